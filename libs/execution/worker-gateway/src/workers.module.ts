import { Module } from '@nestjs/common';
import { AuthHttpModule, AuthModule } from '#platform/auth';
import { HandleFrame } from './application/handle-frame.js';
import { WorkerTasksProvider } from './application/worker-tasks-provider.js';
import { WorkerSockets } from './application/worker-sockets.js';
import { ConnectedWorkersController } from './http/connected-workers.controller.js';
import { WorkerSocketController } from './http/worker-socket.controller.js';
import { ConnectedWorkersStore } from './persistence/connected-workers.store.js';
import { PresenceStore } from './persistence/presence.store.js';
import { Connections } from './socket/connections.js';
import { FrameReader } from './socket/frame-reader.js';
import { HeartbeatMonitor } from './socket/heartbeat-monitor.js';
import { SupersededConnections } from './socket/superseded-connections.js';
import { WorkerAuthenticator } from './socket/worker-authenticator.js';
import { WorkerGateway } from './socket/worker-gateway.js';
import { WorkerMetrics } from './socket/worker-metrics.js';
import { WorkerRegistration } from './socket/worker-registration.js';

/** The connections of this process; a process that is no API has none. */
@Module({ providers: [WorkerSockets, ConnectedWorkersStore], exports: [WorkerSockets, ConnectedWorkersStore] })
export class WorkersModule {}

/** The WebSocket endpoint of workers and the list of connected workers. The application must provide {@link WorkerTasks}. */
@Module({
  imports: [AuthModule, AuthHttpModule, WorkersModule],
  controllers: [ConnectedWorkersController, WorkerSocketController],
  providers: [
    WorkerTasksProvider,
    HandleFrame,
    PresenceStore,
    Connections,
    WorkerMetrics,
    FrameReader,
    WorkerRegistration,
    WorkerAuthenticator,
    WorkerGateway,
    HeartbeatMonitor,
    SupersededConnections,
  ],
})
export class WorkersHttpModule {}
