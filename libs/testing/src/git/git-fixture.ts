import { execFileSync } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** Content by path; `{ link }` makes a symbolic link. */
export type FixtureFiles = Readonly<Record<string, string | Buffer | { readonly link: string }>>;

/** A real repository in a directory of a test: with a working tree at `path`, to which commits are added. */
export class GitFixture {
  constructor(readonly path: string) {
    mkdirSync(path, { recursive: true });
    this.git('init', '--quiet', '--initial-branch=main');
  }

  /** Adds the files to the working tree and commits everything; the commit's id. */
  commit(files: FixtureFiles, message = 'Change'): string {
    for (const [name, content] of Object.entries(files)) {
      const path = join(this.path, name);
      mkdirSync(dirname(path), { recursive: true });
      if (typeof content === 'object' && 'link' in content) symlinkSync(content.link, path);
      else writeFileSync(path, content);
    }
    this.git('add', '--all');
    this.git('commit', '--quiet', '--allow-empty', '-m', message);
    return this.git('rev-parse', 'HEAD');
  }

  /** Runs git in it; what it prints. */
  git(...args: string[]): string {
    return execFileSync('git', args, {
      cwd: this.path,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        HOME: this.path,
        GIT_CONFIG_NOSYSTEM: '1',
        GIT_CONFIG_GLOBAL: '/dev/null',
        GIT_AUTHOR_NAME: 'Test',
        GIT_AUTHOR_EMAIL: 'test@example.com',
        GIT_COMMITTER_NAME: 'Test',
        GIT_COMMITTER_EMAIL: 'test@example.com',
      },
    }).trim();
  }

  /** A bare copy, such as a server has. */
  publish(path: string): void {
    mkdirSync(dirname(path), { recursive: true });
    this.git('clone', '--quiet', '--bare', '.', path);
  }
}
