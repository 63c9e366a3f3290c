export type { HostLog } from '#execution/runner';
export * from './backend.js';
export * from './docker/container-specification.js';
export { DockerBackend, type DockerBackendOptions } from './docker/docker-backend.js';
export * from './docker/docker-engine.js';
export * from './docker/engine-connection.js';
export { parseImageReference } from './docker/images.js';
export { ProcessBackend, type ProcessBackendOptions } from './process/process-backend.js';
export { unreachableApiMessage } from './process/runner-process.js';
