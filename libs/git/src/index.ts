export { checkOut, type CheckOutOptions } from './check-out.js';
export { GitFailure, type GitFailureReason } from './git-failure.js';
export { type GitLocation, parseGitUrl, type ParsedLocation } from './git-location.js';
export { refFault } from './git-ref.js';
export { gitUrlFault } from './local-repository.js';
export { type ListOptions, Mirror } from './mirror.js';
export { MirrorCache, type MirrorCacheOptions } from './mirror-cache.js';
export type { FetchedRef, GitCredential, GitRepository, MirrorOptions, TreeEntry } from './mirror-types.js';
export { directoryNames, repositoryUrl } from './repository-url.js';
