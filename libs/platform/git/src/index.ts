export { checkOut } from './check-out.js';
export { configSection } from './config-section.js';
export { diffWorkTree, findStart, type WorkTree } from './diff-work-tree.js';
export { listIgnored } from './list-ignored.js';
export { DEFAULT_USERNAME } from './git-access.js';
export {
  currentBranch,
  listPushedCommits,
  listPushes,
  type PushedBranch,
  remoteBranches,
  type RemoteOptions,
  remoteRefs,
  type UnpushedChanges,
  unpushedChanges,
} from './pushed-branches.js';
export { withFileLock } from './file-lock.js';
export { GitFailure } from './git-failure.js';
export { directoryNames, githubApi, parseGitUrl, refFault, repositoryUrl } from './git-location.js';
export { gitUrlFault } from './local-repository.js';
export { type GitRepository, Mirror, type TreeEntry } from './mirror.js';
export { MirrorCache } from './mirror-cache.js';
export type { GitHosts } from './remote-host.js';
export { pageOfRepository, pullRequestRef } from './repository-page.js';
export { runSshProgram, type SshPlace, sshPlaceOf } from './ssh-program.js';
