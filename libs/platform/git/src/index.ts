export { checkOut } from './check-out.js';
export { diffWorkTree, findStart } from './diff-work-tree.js';
export { listIgnored } from './list-ignored.js';
export { withFileLock } from './file-lock.js';
export { GitFailure } from './git-failure.js';
export { directoryNames, parseGitUrl, refFault, repositoryUrl } from './git-location.js';
export { gitUrlFault } from './local-repository.js';
export { type GitRepository, Mirror, type TreeEntry } from './mirror.js';
export { MirrorCache } from './mirror-cache.js';
