export { ContainerLabels } from './container-specification.js';
export { containerSpecification, type ContainerOptions, WORKSPACE } from './container-specification.js';
export type { DockerOptions, EngineAddress } from './docker-options.js';
export { type ContainerState, DockerEngine, type ImageInfo } from './docker-engine.js';
export { EngineConnection } from './engine-connection.js';
export { EngineError, EngineUnreachable, isMissing } from './engine-connection.js';
export { EngineMonitor } from './engine-monitor.js';
export {
  classifyContainerExit,
  type ContainerExit,
  isIncompatibleImage,
  incompatibleImageMessage,
} from './container-exit.js';
export { parseImageReference } from './images.js';
export { ImagePuller } from './images.js';
export { imageVariables } from './images.js';
export { isLoopbackUrl } from './container-specification.js';
export { type RunnerContainerDependencies, RunnerContainer } from './runner-container.js';
export { runnerMounts, type RunnerMount } from './container-specification.js';
