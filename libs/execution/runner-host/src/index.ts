export { AgentUsers, type AgentUserRange } from './agent-users.js';
export { clearExecution, type ExecutionRemains } from './clear-execution.js';
export { drainRunners, type DrainOptions, type StartedRunner } from './drain-runners.js';
export type { HostLog, HostLogFields } from './host-log.js';
export { logRunnerLine } from './host-log.js';
export { type RunnerExit, RunnerProcess } from './runner-process.js';
export { isReachableByOthers, listWorkspaces, openWorkspacesDir, type WorkspacesPlace } from './workspaces.js';
export * from './docker/index.js';
export * from './runner-process.js';
