import { execFile, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, rmSync, statSync } from 'node:fs';
import { chmod, mkdtemp } from 'node:fs/promises';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { type AddressInfo, createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Assignment, GitCredentialRequested } from '#execution/runner-protocol';
import { GitFixture, GitServer } from '#testing';
import { GithubApiDouble } from '../support/github-api.js';
import { GitlabApiDouble } from '../support/gitlab-api.js';
import { filesBelow, type Place, placesWith, processesBelow } from '../support/secret-search.js';
import { AGENT_USERS, fence, isRoot, prompt, RunnerProcess, type StartOptions } from './runner-process.js';

const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
const AUTHOR = { name: 'Headrace', email: 'noreply@headrace.example' };
const OTHER_TOKEN = `token-${randomBytes(15).toString('base64url')}`;
const NO_GH = spawnSync('gh', ['--version']).error ? '(skipped: gh is not installed)' : null;
const ECHO = {
  echo: {
    command: 'node',
    args: [fileURLToPath(new URL('echo-agent.mjs', import.meta.url))],
    install_hint: 'it is a test',
  },
};
const runners: RunnerProcess[] = [];
let root: string;
let server: GitServer;
let github: GithubApiDouble;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'headrace-forge-access-'));
  await chmod(root, 0o711);
  server = await GitServer.start({
    root: join(root, 'served'),
    login: { username: 'x-access-token', password: TOKEN, otherPasswords: [OTHER_TOKEN] },
  });
});
afterAll(async () => {
  await server.stop();
  rmSync(root, { recursive: true, force: true });
});
beforeEach(async () => {
  for (const name of ['acme/app', 'acme/lib']) {
    rmSync(join(root, name), { recursive: true, force: true });
    rmSync(join(root, 'served', `${name}.git`), { recursive: true, force: true });
    const fixture = new GitFixture(join(root, name));
    fixture.commit({ 'readme.txt': `${name}\n` }, 'Add a text');
    fixture.publish(join(root, 'served', `${name}.git`));
  }
  github = await GithubApiDouble.start(TOKEN, 'acme/app');
  github.webUrl = server.url;
});
afterEach(async () => {
  await Promise.all(runners.splice(0).map((runner) => runner.dispose()));
  await github.stop();
});

const urlOf = (name: string): string => `${server.url}/acme/${name}.git`;
const repository = (name = 'app', access?: 'token') => ({
  url: urlOf(name),
  directory: name,
  credential: { password: TOKEN },
  ...(access && { api_access: access }),
});
const forges = () => [{ type: 'github' as const, url: server.url, api_url: github.url }];

async function start({ assignment, ...rest }: StartOptions): Promise<RunnerProcess> {
  const runner = await RunnerProcess.start({
    assignment: { git: { author: AUTHOR, forges: forges() }, repositories: [repository()], ...assignment },
    handover: {
      git: { mirrors_dir: join(root, 'mirrors'), clone_timeout_seconds: 60, max_repository_bytes: 50_000_000 },
      harnesses: ECHO,
    },
    ...rest,
  });
  runners.push(runner);
  return runner;
}

/** Executes the commands, and returns what each one prints. */
async function outputsOf(options: StartOptions, ...commands: string[]): Promise<string[]> {
  const blocks = commands.map((command) => fence('sh', `{ ${command}; } 2>&1`));
  const runner = await start({ ...options, assignment: { ...options.assignment, prompt: prompt(...blocks) } });
  await runner.plane.untilEvent('turn_ended');
  return outputs(runner);
}

const outputs = ({ plane }: RunnerProcess): string[] =>
  plane.calls().map(({ output }) => (output as { output: string }).output);
const requested = ({ plane }: RunnerProcess): GitCredentialRequested[] =>
  plane.data<GitCredentialRequested>('git_credential_requested').filter(({ request }) => request !== undefined);
const last = (): RunnerProcess => runners.at(-1) as RunnerProcess;
const PUSH =
  'git switch --quiet --create fix && echo 1 > fix.txt && git add . && git commit --quiet -m "Fix it" && git push --quiet origin fix';
/** So that no automation starts because of the text. */
const MARK = '\n\n<!-- headrace -->';
const NO_GRAPHQL = 'This request is GraphQL, which cannot be limited to the repositories of the run';

/** What is in the workspace, in arguments and variables, and what the runner has sent and logged. */
const placesOf = (runner: RunnerProcess): Place[] => [
  ...filesBelow(runner.handover.workspace_dir),
  ...processesBelow(runner.child.pid ?? 0),
  { name: 'log', content: Buffer.from(runner.logged) },
  ...runner.plane.requests.map(({ body }) => ({ name: 'request', content: body })),
];

describe.skipIf(NO_GH !== null)(`gh in the workspace ${NO_GH ?? ''}`.trim(), { timeout: 120_000 }, () => {
  it.each(AGENT_USERS)(
    'works with the credential of the repository, which no file, argument or variable has, as %s',
    async (_name, ownUser) => {
      const [, created, viewed, , commented, repositoryShown, issue, found, byGit] = await outputsOf(
        { ownUser, assignment: { repositories: [repository('app', 'token')] } },
        PUSH,
        'gh pr create --title "Fix the text" --body "It was wrong." --draft',
        'gh pr view --json number,title,headRefName,isDraft',
        'gh pr view 1',
        'gh pr comment 1 --body "Done."',
        'gh repo view --json nameWithOwner,description',
        'gh issue view 3 --json number,title',
        'env; cat "$GH_CONFIG_DIR"/*; gh auth token',
        // As newer versions of gh tell git to do, and as git then does.
        'git -c credential.helper= -c credential.helper="!\\"$GH_PATH\\" auth git-credential" ls-remote origin main; "$GH_PATH" --version',
      );
      const runner = last();
      const url = `${server.url}/acme/app/pull/1`;
      expect(created).toContain(`${url}\n`);
      expect(JSON.parse(viewed ?? '')).toEqual({
        number: 1,
        title: 'Fix the text',
        headRefName: 'fix',
        isDraft: true,
      });
      expect(commented).toContain(`${url}#issuecomment-1`);
      expect(JSON.parse(repositoryShown ?? '')).toEqual({ nameWithOwner: 'acme/app', description: 'An app' });
      expect(JSON.parse(issue ?? '')).toEqual({ number: 3, title: 'The text is wrong' });
      expect(github.pullRequests).toEqual([
        { number: 1, title: 'Fix the text', body: `It was wrong.${MARK}`, head: 'fix', base: 'main', draft: true },
      ]);
      expect(github.answers.comments).toEqual([{ id: expect.any(Number), number: 1, body: `Done.${MARK}` }]);
      expect(github.violations).toEqual([]);
      expect(runner.plane.artifacts.map(({ reported }) => reported)).toContainEqual(
        expect.objectContaining({ artifact_type: 'PULL_REQUEST', url, branch: 'fix', status: 'draft' }),
      );
      expect(requested(runner)).toContainEqual({
        url: urlOf('app'),
        granted: true,
        request: 'POST /graphql mutation PullRequestCreate',
      });
      expect(requested(runner).every(({ granted }) => granted)).toBe(true);
      expect(byGit).toMatch(/^[0-9a-f]{40}\trefs\/heads\/main\ngh version /);
      // `***` would be the redaction of the runner.
      expect(found).not.toContain('***');
      expect(placesWith([TOKEN], placesOf(runner))).toEqual([]);
      expect(await runner.close()).toBe(0);
    },
  );

  it('uses the REST API with a token that may open other repositories, and GraphQL only if the environment allows it', async () => {
    github.addPullRequest({ title: 'Mine', body: '', head: 'fix', base: 'main', draft: false });
    const [viewed, pulls, created, run, large] = await outputsOf(
      {},
      'gh pr view 1',
      'gh api "repos/{owner}/{repo}/pulls/1" --jq .title',
      'gh api repos/Acme/APP/pulls -f title=Second -f head=two -f base=main --jq .html_url',
      'gh run view 30433642',
      'head -c 9000000 /dev/zero | gh api repos/acme/app/pulls --input - --silent',
    );
    expect(viewed).toContain(`HTTP 403: ${NO_GRAPHQL}`);
    expect(pulls).toBe('Mine\n');
    expect(created).toBe(`${server.url}/acme/app/pull/2\n`);
    expect(run).toContain('main CI · 30433642\n');
    expect(run).toContain('✓ build in');
    expect(large).toContain('The body of a request must not exceed 8388608 bytes. (HTTP 413)');
    expect(github.violations).toEqual([]);
    expect(requested(last()).slice(0, 2)).toEqual([
      { url: server.url, granted: false, request: 'POST /api/graphql', message: expect.stringContaining(NO_GRAPHQL) },
      { url: urlOf('app'), granted: true, request: 'GET /repos/acme/app/pulls/1' },
    ]);
  });

  it('chooses the credential of several repositories by the request, and for changes by the objects that were read', async () => {
    github.otherTokens.set(OTHER_TOKEN, 'acme/lib');
    const lib = { ...repository('lib', 'token'), credential: { password: OTHER_TOKEN } };
    const comment = 'addComment(input: {subjectId: "PR_unread_1", body: "x"}) { clientMutationId }';
    const [app, name, created, ...unread] = await outputsOf(
      { assignment: { repositories: [repository('app', 'token'), lib] } },
      'gh api repos/acme/app --jq .default_branch',
      'gh repo view acme/lib --json nameWithOwner --jq .nameWithOwner',
      'gh pr create --repo acme/lib --title Two --body "" --head two --base main',
      `gh api graphql -f query='mutation M { ${comment} }'`,
      `gh api graphql -f query='mutation { ${comment} }'`,
      `gh api graphql -f operationName=M -f query='query Q { viewer { login } } mutation M { ${comment} }'`,
    );
    expect(app).toBe('main\n');
    expect(name).toBe('acme/lib\n');
    expect(created).toContain(`${server.url}/acme/lib/pull/1\n`);
    for (const output of unread)
      expect(output).toContain('The run has several repositories, and the request does not say which one it is about.');
    expect(github.violations).toEqual([]);
  });

  it('adds the mark to the texts of GraphQL, wherever they are, and to the comments of a review', async () => {
    const inline = (body: string): string =>
      `mutation M { addComment(input: {subjectId: "PR_1", # body: "x"\n body:, ${body}}) { clientMutationId } }`;
    const query = (text: string): string => fence('sh', `cat > query <<'END'\n${text}\nEND`);
    const send = (...parameters: string[]): string =>
      fence('sh', `gh api graphql -F query=@query --silent ${parameters.join(' ')} 2>&1`);
    const addComment = (declared: string, input: string): string =>
      `mutation M(${declared}) { addComment(input: ${input}) { clientMutationId } }`;
    const sendInput = (name: string, body: string): string => {
      const text = addComment(`$${name}: AddCommentInput!`, `$${name}`);
      const request = { query: text, variables: { [name]: { subjectId: 'PR_1', body } } };
      return fence('sh', `echo '${JSON.stringify(request)}' | gh api graphql --input - --silent 2>&1`);
    };
    const review = { body: 'A review.', event: 'COMMENT', comments: [{ path: 'a', body: 'A line.' }, { path: 'b' }] };
    github.next = { status: 200, body: {} };
    github.nextOf = /reviews/;
    const runner = await start({
      assignment: {
        repositories: [repository('app', 'token')],
        prompt: prompt(
          query(inline('"Say \\"one\\"."')) + send(),
          query(inline('"""\n    Two: body: "x"\n    lines\n  """')) + send(),
          query(addComment('$text: String!', '{subjectId: "PR_1", body: $text}')) + send('-f text=Three.'),
          query(addComment('$text: String! = "Four."', '{subjectId: "PR_1", body: $text}')) + send(),
          sendInput('input', 'Five.'),
          sendInput('other', 'Six.'),
          query(inline('""""Seven."""').replace('\\n body', '\r body')) + send(),
          query(addComment('$text: String!', '{subjectId: "PR_1", body: $ # text\ntext}')) + send('-f text=Eight.'),
          fence(
            'sh',
            `echo '${JSON.stringify(review)}' | gh api repos/acme/app/pulls/1/reviews --input - --silent 2>&1`,
          ),
          query('mutation M { addComment(input: {clientMutationId: 1body: "no"}) { clientMutationId } }') + send(),
          fence('sh', `echo '[{}]' | gh api graphql --input - --silent 2>&1`),
          fence('sh', `echo 'body: no' | gh api repos/acme/app/issues/1/comments --input - --silent 2>&1`),
        ),
      },
    });
    await runner.plane.untilEvent('turn_ended');
    expect(outputs(runner).slice(-3)).toEqual([
      expect.stringMatching(/The GraphQL document of the request cannot be read: .*"b".*\(HTTP 415\)/),
      expect.stringMatching(/The body of a GraphQL request must be a JSON object .*\(HTTP 415\)/),
      expect.stringContaining('must be JSON or a form. (HTTP 415)'),
    ]);
    expect(github.answers.comments.map(({ body }) => body)).toEqual(
      ['Say "one".', 'Two: body: "x"\nlines', 'Three.', 'Four.', 'Five.', 'Six.', '"Seven.', 'Eight.'].map(
        (text) => `${text}${MARK}`,
      ),
    );
    expect(github.violations).toEqual([]);
    const sent = github.bodies.find((body) => body.includes('A review.'));
    expect(JSON.parse(sent ?? '')).toEqual({
      ...review,
      body: `A review.${MARK}`,
      comments: [{ path: 'a', body: `A line.${MARK}` }, { path: 'b' }],
    });
  });

  it('sends nothing about other repositories, other paths or settings', async () => {
    const refused = [
      ['GET', 'repos/acme/lib'],
      ['GET', 'repos/acme/app/../lib'],
      ['GET', 'repos/acme/app/%2e%2e/lib'],
      ['GET', 'repos/acme/app%2f..%2flib'],
      ['GET', 'repos/acme/app/..%2flib/pulls'],
      ['GET', 'repos/acme%2fapp/pulls'],
      ['GET', 'repos//acme/app'],
      ['GET', 'repos/acme/app/%252e%252e/lib'],
      ['GET', 'repos/acme/app/..%5c..%5clib'],
      ['GET', 'repos/acme/app.git'],
      ['GET', 'repositories/1'],
      ['GET', 'user/repos'],
      ['POST', 'user/repos'],
      ['POST', 'user'],
      ['DELETE', 'repos/acme/app'],
      ['PATCH', 'repos/acme/app'],
      ['POST', 'repos/acme/app/hooks'],
      ['POST', 'repos/acme/app/keys'],
      ['PUT', 'repos/acme/app/actions/secrets/KEY'],
      ['PUT', 'repos/acme/app/collaborators/eve'],
      ['PUT', 'repos/acme/app/branches/main/protection'],
      ['DELETE', 'repos/acme/app/pulls%2f..%2f..%2fapp'],
      ['POST', 'repos/acme/app/statuses/0123456'],
      ['POST', 'repos/acme/app/actions/runs/1/approve'],
      ['POST', 'repos/acme/app/forks'],
    ] as const;
    const answers = await outputsOf(
      { assignment: { repositories: [repository('app', 'token')] } },
      ...refused.map(([method, path]) => `gh api --silent -X ${method} '${path}'`),
      `gh api graphql -f query='{ repository(owner: "acme", name: "lib") { id } }'`,
      'GH_ENTERPRISE_TOKEN=x gh api --hostname 127.0.0.2 repos/acme/app',
    );
    for (const [index, answer] of answers.entries())
      expect([refused[index], answer]).toEqual([refused[index], expect.stringContaining('(HTTP 403)')]);
    expect(github.requests).toEqual([]);
    const records = requested(last());
    expect(records.map(({ granted }) => granted)).toEqual(answers.map(() => false));
    expect(records[0]).toEqual({
      url: `${server.url}/acme/lib`,
      granted: false,
      request: 'GET /api/v3/repos/acme/lib',
      message: 'acme/lib is not a repository of this run.',
    });
    expect(records[14]).toEqual({
      url: urlOf('app'),
      granted: false,
      request: 'DELETE /api/v3/repos/acme/app',
      message: 'Programs in a run may not send DELETE for this part of a repository.',
    });
  });

  it('follows redirects to other servers without the credential, and pages of the repository', async () => {
    const received: IncomingHttpHeaders[] = [];
    const storage = createServer((request, response) => {
      received.push(request.headers);
      response.end('log of the job\n');
    });
    await new Promise<void>((resolve) => storage.listen(0, '127.0.0.1', resolve));
    github.logs = `http://127.0.0.1:${(storage.address() as AddressInfo).port}/logs?signed=1`;
    github.next = {
      status: 200,
      body: [{ title: 'First' }],
      headers: { link: `<${github.url}/repositories/1296269/pulls?state=open&page=2>; rel="next"` },
    };
    github.nextOf = /state=all/;
    try {
      const [log, pages] = await outputsOf(
        {},
        'gh api repos/acme/app/actions/jobs/399444496/logs',
        "gh api --paginate 'repos/acme/app/pulls?state=all' --jq '.[].title'",
      );
      expect(log).toBe('log of the job\n');
      expect(received.map(({ authorization }) => authorization)).toEqual([undefined]);
      expect(pages).toBe('First\n');
      expect(github.requests.at(-1)).toBe('GET /repos/acme/app/pulls');
      expect(github.violations).toEqual([]);
    } finally {
      await new Promise((resolve) => storage.close(resolve));
    }
  });

  it('keeps the configuration and the tokens that the environment has for gh', async () => {
    github.otherTokens.set('token-of-the-environment', 'acme/lib');
    const environment = {
      uid: 'e'.repeat(22),
      setup_commands: [],
      env: { GH_ENTERPRISE_TOKEN: 'token-of-the-environment' },
    };
    const [directory] = await outputsOf({ assignment: { environment } }, 'echo "${GH_CONFIG_DIR:-none}"');
    expect(directory).toBe('none\n');
    const [lib, wrong] = await outputsOf(
      {},
      'GH_ENTERPRISE_TOKEN=token-of-the-environment gh api repos/acme/lib --jq .default_branch',
      'GH_ENTERPRISE_TOKEN=wrong gh api repos/acme/app',
    );
    expect(lib).toBe('main\n');
    expect(wrong).toContain('Bad credentials (HTTP 401)');
    expect(requested(last())).toEqual([]);
  });

  it('gets no answer from another execution, and none when its own has ended', async () => {
    const first = await start({
      ownUser: isRoot,
      assignment: { prompt: fence('sh', 'gh api repos/acme/app --silent') },
    });
    await first.plane.untilEvent('turn_ended');
    const directory = join(first.handover.workspace_dir, 'git');
    const socket = join(directory, 'gh.sock');
    expect(statSync(first.handover.workspace_dir).mode & 0o777).toBe(0o700);
    const other = await start({
      ownUser: isRoot,
      assignment: {
        repositories: [],
        prompt: fence(
          'sh',
          `echo "\${GH_CONFIG_DIR:-none}"; GH_CONFIG_DIR=${directory}/gh gh api repos/acme/app --jq .name 2>&1`,
        ),
      },
    });
    await other.plane.untilEvent('turn_ended');
    // Without root both executions have the same user, who could read the memory of each of them.
    if (isRoot) expect(outputs(other)[0]).toMatch(/^none\n.*permission denied/s);
    // A connection that was made before the end gets nothing after it.
    const early = createConnection(socket);
    await new Promise((resolve) => early.once('connect', resolve));
    const received: Buffer[] = [];
    early.on('data', (chunk) => received.push(chunk));
    const ended = new Promise((resolve) => early.once('close', resolve));
    const before = github.requests.length;
    expect(await first.close()).toBe(0);
    early.end('GET /api/v3/repos/acme/app HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n');
    await ended;
    expect(received).toEqual([]);
    expect(existsSync(socket)).toBe(false);
    expect(github.requests).toHaveLength(before);
  });

  it('is mentioned to agents that can use it', async () => {
    const said = async (assignment: StartOptions['assignment']): Promise<string> => {
      const runner = await start({
        assignment: { harness: { type: 'echo' }, prompt: 'Begin.', ...assignment },
      });
      await runner.plane.untilEvent('turn_ended');
      return runner.plane.said;
    };
    const sentence = '`gh` can be used for the repositories of this run without a login.';
    expect(await said({})).toContain(sentence);
    expect(await said({ repositories: [] })).not.toContain(sentence);
  });
});

describe('glab in the workspace', { timeout: 120_000 }, () => {
  let gitlab: GitlabApiDouble;
  beforeEach(async () => {
    gitlab = await GitlabApiDouble.start(TOKEN, 'acme/app');
  });
  afterEach(() => gitlab.stop());

  const onGitlab = (): Partial<Assignment> => ({
    git: { author: AUTHOR, forges: [{ type: 'gitlab', url: server.url, api_url: `${gitlab.url}/api/v4` }] },
  });
  interface Sent {
    readonly method: string;
    readonly path: string;
    readonly type?: string;
    readonly text?: string;
  }
  const send = (method: string, path: string, body?: object | string, type?: string): Sent => {
    const text = typeof body === 'object' ? JSON.stringify(body) : body;
    return { method, path, ...(type !== undefined && { type }), ...(text !== undefined && { text }) };
  };
  /** Sends requests as glab does by its configuration, of which JSON is a form, one after another. Prints status and body of each. */
  const sending = (requests: readonly Sent[]): string => {
    // Encoded, so that the shell changes nothing of it.
    const list = Buffer.from(JSON.stringify(requests)).toString('base64');
    const program = `
      const { hosts } = JSON.parse(require("node:fs").readFileSync(process.env.GLAB_CONFIG_DIR + "/config.yml"));
      const { api_protocol: protocol, api_host: host, token } = Object.values(hosts)[0];
      (async () => {
        for (const { method, path, type, text } of JSON.parse(Buffer.from("${list}", "base64"))) {
          const headers = { "private-token": token, "content-type": type ?? "application/json" };
          const response = await fetch(protocol + "://" + host + path, { method, headers, body: text });
          console.log(response.status, JSON.stringify(await response.text()));
        }
      })();
    `;
    return `node -e '${program.replaceAll('\n', ' ')}'`;
  };
  async function answersTo(options: StartOptions, ...requests: readonly Sent[]): Promise<string[]> {
    const [printed = ''] = await outputsOf(options, sending(requests));
    return printed
      .trim()
      .split('\n')
      .map((line) => line.replace(/ (".*")$/, (_all, text: string) => ` ${JSON.parse(text) as string}`));
  }
  const PROJECT = '/api/v4/projects/acme%2Fapp';

  it('is disconnected when it sends a request before the response to an earlier one', async () => {
    const program = `
      const { hosts } = JSON.parse(require("node:fs").readFileSync(process.env.GLAB_CONFIG_DIR + "/config.yml"));
      const { api_host: host } = Object.values(hosts)[0];
      const { hostname, port } = new URL("http://" + host);
      const request = "GET ${PROJECT} HTTP/1.1\\r\\nHost: " + host + "\\r\\n\\r\\n";
      const socket = require("node:net").connect(Number(port), hostname, () => socket.write(request + request));
      socket.on("data", (data) => process.stdout.write(data)).on("error", () => {}).on("close", () => console.log("closed"));
    `;
    const [pipelined, single] = await outputsOf(
      { assignment: onGitlab() },
      `node -e '${program.replaceAll('\n', ' ')}'`,
      sending([send('GET', PROJECT)]),
    );
    expect(pipelined).toBe('closed\n');
    expect(single).toMatch(/^200 /);
  });

  it('gets answers about the projects of the run, by their path or number', async () => {
    const request = { title: 'Fix it', description: '', source_branch: 'fix', target_branch: 'main' };
    const [project, created, shown, noted, ...refused] = await answersTo(
      { ownUser: isRoot, assignment: onGitlab() },
      send('GET', PROJECT),
      send('POST', '/api/v4/projects/1/merge_requests', request),
      send('GET', `${PROJECT}/merge_requests/1`),
      send('POST', `${PROJECT}/merge_requests/1/notes`, { body: 'Done.' }),
      send('GET', '/api/v4/projects/acme%2Flib'),
      send('GET', '/api/v4/projects/2'),
      send('GET', '/api/v4/projects'),
      send('GET', `${PROJECT}/variables`),
      send('GET', `${PROJECT}/issues%2F..%2Fvariables`),
      send('POST', `${PROJECT}/hooks`, {}),
      send('DELETE', PROJECT),
      send('PUT', PROJECT, { visibility: 'public' }),
      send('POST', '/api/graphql/', { query: '{ currentUser { id } }' }),
    );
    expect(project).toMatch(/^200 .*"default_branch":"main"/);
    expect(created).toMatch(/^201 /);
    expect(shown).toMatch(/^200 .*"title":"Fix it"/);
    expect(noted).toMatch(/^201 /);
    expect(refused).toHaveLength(9);
    for (const answer of refused) expect(answer).toMatch(/^403 \{"message":".+"\}$/);
    expect(gitlab.mergeRequests).toHaveLength(1);
    expect(gitlab.notes.map(({ body }) => body)).toEqual([`Done.${MARK}`]);
    const runner = last();
    expect(requested(runner).filter(({ granted }) => granted)).toEqual(
      ['GET', 'POST', 'GET', 'POST'].map((method, index) => ({
        url: urlOf('app'),
        granted: true,
        request: `${method} /projects/acme%2Fapp${['', '/merge_requests', '/merge_requests/1', '/merge_requests/1/notes'][index]}`,
      })),
    );
    expect(placesWith([TOKEN], placesOf(runner))).toEqual([]);
  });

  it('gets the mark in texts of forms and of the query', async () => {
    const notes = `${PROJECT}/merge_requests/1/notes`;
    const form = 'application/x-www-form-urlencoded';
    const part = (name: string, value: string): string =>
      `--limit\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const [, , , , , , ...others] = await answersTo(
      { assignment: onGitlab() },
      send('POST', notes, new URLSearchParams({ body: 'One & two', internal: 'false' }).toString(), form),
      send('POST', notes, new URLSearchParams({ body: 'Three' }).toString(), `${form}; charset=UTF-8`),
      send(
        'POST',
        notes,
        `${part('internal', 'false')}${part('body', 'Four\r\nlines')}--limit--\r\n`,
        'multipart/form-data; boundary=limit',
      ),
      send('POST', `${notes}?body=Five%20words&internal=false`),
      send('POST', `${notes}?%62ody=Six`, { internal: false }),
      send('POST', notes, '{"body":"Seven","a":"&body=no&"}', form),
      send('POST', notes, '<body>no</body>', 'application/xml'),
      send('POST', notes, '[body]=no', form),
      send('POST', `${notes}?a=1&+body=no`),
      send('POST', notes, 'no form', 'multipart/form-data; boundary=limit'),
      send('GET', `${PROJECT}/merge_requests?source_branch=x&target_branch=y&description=z`),
    );
    // The form with parts has its own line breaks.
    expect(gitlab.notes.map(({ body }) => body.replaceAll('\r\n', '\n'))).toEqual(
      ['One & two', 'Three', 'Four\nlines', 'Five words', 'Six', 'Seven'].map((text) => `${text}${MARK}`),
    );
    expect(others).toEqual([
      expect.stringMatching(/^415 .*must be JSON or a form/),
      expect.stringMatching(/^415 .*in different ways/),
      expect.stringMatching(/^415 .*in different ways/),
      expect.stringMatching(/^415 .*cannot be read/),
      expect.stringMatching(/^200 \[\]/),
    ]);
  });

  it.skipIf(!isRoot)('gets no answer for another user, and none when the execution has ended', async () => {
    await outputsOf({ ownUser: true, assignment: onGitlab() }, 'echo ready');
    const runner = last();
    const config = readFileSync(join(runner.handover.workspace_dir, 'git', 'glab', 'config.yml'), 'utf8');
    const [, port = ''] = /127\.0\.0\.1:(\d+)/.exec(config) ?? [];
    const program = `
      const socket = require("node:net").connect(${port}, "127.0.0.1");
      socket.write("GET ${PROJECT} HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\n\\r\\n");
      socket.once("data", (answer) => socket.destroy(console.log(String(answer).split(" ")[1])));
      socket.on("error", () => {}).on("close", () => console.log("closed"));
    `;
    const ask = async (uid: number): Promise<string> =>
      (await promisify(execFile)(process.execPath, ['-e', program], { uid, gid: uid, cwd: '/' })).stdout;
    const { uid = 0 } = runner.handover.run_as ?? {};
    expect(await ask(uid)).toBe('200\nclosed\n');
    expect(await ask(65_534)).toBe('closed\n');
    expect(await runner.close()).toBe(0);
    expect(await ask(uid)).toBe('closed\n');
  });
});
