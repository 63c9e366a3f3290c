import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { GitFixture } from '../../libs/testing/src/git/git-fixture.js';
import { GitServer } from '../../libs/testing/src/git/git-server.js';
import { GithubApiDouble } from './github-api.js';
import { GitlabApiDouble } from './gitlab-api.js';

/** The repository `acme/app` with one commit, served by git over HTTP for GitHub and for GitLab, and the APIs of both. */
export class ForgeFixture {
  private constructor(
    private readonly root: string,
    readonly git: GitServer,
    readonly github: GithubApiDouble,
    readonly gitOfGitlab: GitServer,
    readonly gitlab: GitlabApiDouble,
  ) {}

  /** @param token of a person, which both forges accept. */
  static async start(token: string): Promise<ForgeFixture> {
    const root = mkdtempSync(join(tmpdir(), 'headrace-forges-'));
    chmodSync(root, 0o711);
    publish(root, 'app', []);
    const github = await GithubApiDouble.start(token, 'acme/app');
    const login = {
      username: 'x-access-token',
      get password() {
        return github.token;
      },
      // Tokens of an App are valid until they end.
      get otherPasswords() {
        return github.appTokens;
      },
    };
    const served = join(root, 'served');
    const git = await GitServer.start({ root: served, login });
    github.webUrl = git.url;
    const gitOfGitlab = await GitServer.start({ root: served, login: { username: 'oauth2', password: token } });
    const gitlab = await GitlabApiDouble.start(token, 'acme/app');
    gitlab.gitUrl = gitOfGitlab.url;
    const forges = new ForgeFixture(root, git, github, gitOfGitlab, gitlab);
    gitlab.headOf = github.headOf = (branch) => forges.headOf(branch);
    return forges;
  }

  /** Of an installation that uses these forges. */
  get settings(): Record<string, string> {
    return { GITHUB_URL: this.git.url, GITHUB_API_URL: this.github.url, GITLAB_URL: this.gitlab.url };
  }

  /** `acme/name`, which git serves beside `acme/app`, with these branches beside `main`. */
  addRepository(name: string, branches: readonly string[]): void {
    publish(this.root, name, branches);
  }

  /** Subjects, the newest first. */
  commitsOf(branch: string, repository?: string): string[] {
    return this.in(repository, 'log', '--format=%s', branch).split('\n');
  }

  headOf(branch: string): string {
    return this.inRepository('rev-parse', branch);
  }

  inRepository(...args: string[]): string {
    return this.in('app', ...args);
  }

  async stop(): Promise<void> {
    await Promise.all([this.git.stop(), this.github.stop(), this.gitOfGitlab.stop(), this.gitlab.stop()]);
    rmSync(this.root, { recursive: true, force: true });
  }

  private in(repository = 'app', ...args: string[]): string {
    const served = ['-c', 'safe.directory=*', '-C', join(this.root, 'served', 'acme', `${repository}.git`)];
    return execFileSync('git', [...served, ...args], { encoding: 'utf8' }).trim();
  }
}

function publish(root: string, name: string, branches: readonly string[]): void {
  const fixture = new GitFixture(join(root, name));
  fixture.commit({ 'readme.txt': `${name}\n` }, 'Add a text');
  for (const branch of branches) fixture.git('branch', branch);
  fixture.publish(join(root, 'served', 'acme', `${name}.git`));
}
