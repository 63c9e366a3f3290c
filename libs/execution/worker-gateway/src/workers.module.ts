import { Module } from '@nestjs/common';
import { AuthHttpModule, AuthModule } from '#platform/auth';
import { HandleFrame } from './application/handle-frame.js';
import { ConnectedWorkersController, WorkerSocketController } from './http/workers.controller.js';
import { PresenceStore } from './persistence/presence.store.js';
import { FrameReader } from './socket/frame-reader.js';
import { HeartbeatMonitor } from './socket/heartbeat-monitor.js';
import { WorkerAuthenticator } from './socket/worker-authenticator.js';
import { WorkerGateway } from './socket/worker-gateway.js';
import { WorkerMetrics } from './socket/worker-metrics.js';
import { WorkerRegistration } from './socket/worker-registration.js';
import { WorkerSockets } from './socket/worker-sockets.js';

/** The connections of this process, for the library that implements {@link WorkerTasks}. */
@Module({ providers: [WorkerMetrics, WorkerSockets], exports: [WorkerMetrics, WorkerSockets] })
export class WorkersModule {}

/** The WebSocket endpoint of workers and the list of connected workers. A global module must provide {@link WorkerTasks}. */
@Module({
  imports: [AuthModule, AuthHttpModule, WorkersModule],
  controllers: [ConnectedWorkersController, WorkerSocketController],
  providers: [
    HandleFrame,
    PresenceStore,
    FrameReader,
    WorkerRegistration,
    WorkerAuthenticator,
    WorkerGateway,
    HeartbeatMonitor,
  ],
})
export class WorkersHttpModule {}
