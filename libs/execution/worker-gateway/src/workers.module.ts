import { Module } from '@nestjs/common';
import { AuthHttpModule, AuthModule } from '#platform/auth';
import { HandleFrame } from './application/handle-frame.js';
import { TaskDoor } from './application/task-door.js';
import { WorkerSockets } from './application/worker-sockets.js';
import { ConnectedWorkersController } from './http/connected-workers.controller.js';
import { WorkerSocketController } from './http/worker-socket.controller.js';
import { ConnectedWorkersStore } from './persistence/connected-workers.store.js';
import { PresenceStore } from './persistence/presence.store.js';
import { Connections } from './socket/connections.js';
import { FrameDoor } from './socket/frame-door.js';
import { HeartbeatMonitor } from './socket/heartbeat-monitor.js';
import { SupersededConnections } from './socket/superseded-connections.js';
import { WorkerAdmission } from './socket/worker-admission.js';
import { WorkerGateway } from './socket/worker-gateway.js';
import { WorkerMeters } from './socket/worker-meters.js';
import { WorkerReception } from './socket/worker-reception.js';

/** The connections that this process holds; none, where it is no API. */
@Module({ providers: [WorkerSockets, ConnectedWorkersStore], exports: [WorkerSockets, ConnectedWorkersStore] })
export class WorkersModule {}

/** The socket that workers dial, and who is connected. Needs a {@link WorkerTasks} somewhere in the application. */
@Module({
  imports: [AuthModule, AuthHttpModule, WorkersModule],
  controllers: [ConnectedWorkersController, WorkerSocketController],
  providers: [
    TaskDoor,
    HandleFrame,
    PresenceStore,
    Connections,
    WorkerMeters,
    FrameDoor,
    WorkerReception,
    WorkerAdmission,
    WorkerGateway,
    HeartbeatMonitor,
    SupersededConnections,
  ],
})
export class WorkersHttpModule {}
