import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ForgeFixture } from '../support/forge-fixture.js';
import { githubDelivery, signedHeaders } from '../support/github-deliveries.js';
import { descendants, Installation, processes, type Program, runnersOf, until } from '../support/installation.js';

type Victim = 'server' | 'runner' | 'agent' | 'postgres';
/** When the request has arrived at the forge, which executes it: the killed process does not know. */
type Step = readonly [name: string, at: 'git' | 'api', line: RegExp];

const CLONE: Step = ['the clone', 'git', /^POST .*git-upload-pack/];
const PUSH: Step = ['the push', 'git', /^POST .*git-receive-pack/];
const PULL_REQUEST: Step = ['the creation of the pull request', 'api', /^POST .*\/pulls$/];
const REACTION: Step = ['the reaction', 'api', /^POST .*\/reactions$/];
const COMMENT: Step = ['the creation of the comment', 'api', /^POST .*\/comments$/];
const EDIT: Step = ['the edit of the comment', 'api', /^PATCH .*\/issues\/comments\//];
const CHECK: Step = ['the creation of the check run', 'api', /^POST .*\/check-runs$/];
const CHECK_END: Step = ['the edit of the check run', 'api', /^PATCH .*\/check-runs\//];
const TOKEN: Step = ['the creation of a token of the App', 'api', /^POST .*\/access_tokens$/];

const FEW: readonly (readonly [Step, Victim])[] = [
  [PUSH, 'runner'],
  [PULL_REQUEST, 'runner'],
  [PULL_REQUEST, 'server'],
  [COMMENT, 'server'],
  [CHECK, 'server'],
  [COMMENT, 'postgres'],
];
const VICTIMS: readonly Victim[] = ['server', 'runner', 'agent', 'postgres'];
const SERVER_VICTIMS = ['server', 'postgres'] as const;
/** The first ones need tokens that end soon. */
const ALL = [
  ...SERVER_VICTIMS.map((victim) => [TOKEN, victim] as const),
  ...[CLONE, PUSH, PULL_REQUEST].flatMap((step) => VICTIMS.map((victim) => [step, victim] as const)),
  ...[REACTION, COMMENT, EDIT, CHECK, CHECK_END].flatMap((step) =>
    SERVER_VICTIMS.map((victim) => [step, victim] as const),
  ),
];
const CASES = process.env.HEADRACE_TEST_LONG === '1' ? ALL : FEW;

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR'];
const PERMISSIONS = { checks: 'write', contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' };
/** Less than the service keeps a token before its end. */
const SHORT_TOKEN_MS = 240_000;
const TURN_MS = 60_000;
/** Of an issue; pull requests have the numbers below. */
const FIRST_ISSUE = 1001;
const NUMBER =
  'n=$(grep -o \'"number":10[0-9]*\' "$HEADRACE_ATTACHMENTS_DIR/event-payload.json" | head -1 | cut -d: -f2)';
const FIX = [
  `\`\`\`sh\n${NUMBER} && git switch --quiet --create issue-$n && echo fixed > $n.txt && git add . && git commit --quiet -m "Fix $n" && git push --quiet origin issue-$n\n\`\`\``,
  '```tool name=create_pull_request\n{"title":"Fix the issue"}\n```',
].join('\n');
/** The workspace of a run that was lost may have no commit. */
const REVISE =
  '```sh\ngit commit --quiet --allow-empty -m "Revise" && git push --quiet origin HEAD || echo "nothing to push to"\n```';

describe('a run from an issue to a pull request', { timeout: 180_000 }, () => {
  let forges: ForgeFixture;
  let installation: Installation;
  let server: Program;
  let ingress: string;
  const secret = randomBytes(20).toString('hex');

  beforeAll(async () => {
    forges = await ForgeFixture.start(randomBytes(20).toString('hex'));
    installation = await Installation.create(forges.settings);
    server = await installation.up();
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const value = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect((await installation.call('PUT', '/secrets/github-key', { value })).status).toBeLessThan(300);
    forges.github.app = { id: 815, publicKey, permissions: PERMISSIONS, isInstalled: true, tokenMs: 3_600_000 };
    const repositories = [{ owner: 'acme', repo: 'app', secret_name: 'github-key', github_app_id: 815 }];
    const config = { name: 'team', github_repos: repositories };
    const { uid: environment } = await created('/environments', { config, team: true });
    const factory = `/factories/${installation.connection.factory_uid}`;
    const signature = { auth_mode: 'signature', signature_scheme: 'github', secret };
    ({ ingress_url: ingress } = await created(`${factory}/webhooks`, { name: 'github', ...signature }));
    const agent = { enabled: true, agent_config: { environment_id: environment }, concurrency: { policy: 'continue' } };
    const trigger = (event: string): object => ({ provider: 'github', event });
    await created(`${factory}/automations`, {
      ...agent,
      name: 'fix',
      prompt: FIX,
      triggers: [trigger('issue_labeled')],
    });
    await created(`${factory}/automations`, {
      ...agent,
      name: 'revise',
      prompt: REVISE,
      triggers: [trigger('pull_request_reviewed'), trigger('issue_commented')],
    });
  });
  afterAll(async () => {
    expect(await server.stop('SIGTERM')).toBe(0);
    await forges.stop();
    installation.remove();
  });

  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  async function created(path: string, body: object): Promise<any> {
    const answer = await installation.call('POST', path, body);
    expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
    return answer.body;
  }
  async function deliver(kind: string, action: string, changes: object): Promise<void> {
    const repository = { full_name: 'acme/app', name: 'app', html_url: `${forges.git.url}/acme/app` };
    const delivery = githubDelivery(kind, action, { repository, ...changes });
    const headers = signedHeaders(delivery, randomUUID(), secret);
    const response = await fetch(ingress, { method: 'POST', headers, body: delivery.body });
    expect([response.status, await response.text()]).toEqual([202, expect.stringContaining('delivery_id')]);
  }
  const kill = (victim: Victim): void => {
    for (const pid of pidsOf(victim)) process.kill(pid, 'SIGKILL');
  };
  function pidsOf(victim: Victim): number[] {
    const launcher = server.child.pid ?? 0;
    const runners = runnersOf(launcher).map(({ pid }) => pid);
    switch (victim) {
      case 'server':
        return [launcher];
      case 'runner':
        return runners;
      case 'agent':
        return runners.flatMap((pid) => descendants(pid).map((one) => one.pid));
      case 'postgres':
        return processes()
          .filter(
            ({ argv }) =>
              argv[0]?.endsWith('/postgres') === true && argv.some((part) => part.includes(installation.dataDir)),
          )
          .map(({ pid }) => pid)
          .slice(0, 1);
    }
  }
  /** Nothing while the server or the database is away. */
  const listed = async (): Promise<unknown[]> => {
    const answer = await installation.call('GET', '/agent/runs?limit=100').catch(() => null);
    return answer?.status === 200 ? (answer.body.runs as unknown[]) : [];
  };
  const runsFor = async (issue: number): Promise<string[]> =>
    ((await listed()) as { run_id: string; metadata?: { target?: string } }[])
      .filter(({ metadata }) => metadata?.target === `acme/app#${issue}`)
      .map(({ run_id: runId }) => runId);
  const commentsAt = (number: number): string[] =>
    forges.github.answers.comments.filter((one) => one.number === number).map(({ body }) => body);
  const shownState = (state: string): string => (state === 'SUCCEEDED' ? '**has succeeded**' : '**has failed');
  const pullRequestsOf = (branch: string) => forges.github.pullRequests.filter(({ head }) => head === branch);

  it.each(CASES.map(([step, victim], index) => [step[0], victim, step, FIRST_ISSUE + index] as const))(
    'after %s survives that kill -9 ends the %s',
    async (_name, victim, step, issue) => {
      const [, at, line] = step;
      if (forges.github.app) forges.github.app.tokenMs = step === TOKEN ? SHORT_TOKEN_MS : 3_600_000;
      let killed = false;
      const interrupt = {
        line,
        call: () => {
          killed = true;
          kill(victim);
        },
      };
      if (at === 'git') forges.git.interrupt = interrupt;
      else forges.github.interrupt = interrupt;
      await deliver('issues', 'labeled', { issue: { number: issue }, label: { name: 'agent' } });
      await until(() => killed, TURN_MS, 'the step');
      if (victim === 'server') {
        await server.exited;
        server = await installation.up();
      }
      await until(async () => (await runsFor(issue)).length > 0, TURN_MS, 'the run');
      const [runId = '', ...others] = await runsFor(issue);
      expect(others).toEqual([]);
      const first = await installation.waitFor(runId, ENDED, TURN_MS);
      if (first.state === 'ERROR') expect(first.status_message.error_code).toBe('infrastructure_timeout');
      await until(
        () => commentsAt(issue)[0]?.includes(shownState(first.state)) === true,
        TURN_MS,
        'the end in the comment',
      );
      expect(commentsAt(issue)).toHaveLength(1);
      expect(pullRequestsOf(`issue-${issue}`).length).toBeLessThanOrEqual(1);

      // A person answers: the same run continues, and its comment says how that has ended.
      const number = pullRequestsOf(`issue-${issue}`)[0]?.number;
      const comment = { comment: { author_association: 'OWNER' }, issue: { number: issue, active_lock_reason: null } };
      await deliver('issue_comment', 'created', comment);
      await until(
        async () => (await installation.run(runId)).updated_at !== first.updated_at,
        TURN_MS,
        'the follow-up',
      );
      const second = await installation.waitFor(runId, ENDED, TURN_MS);
      await until(() => commentsAt(issue)[0]?.includes(shownState(second.state)) === true, TURN_MS, 'the second end');
      expect(await runsFor(issue)).toEqual([runId]);
      expect(commentsAt(issue)).toHaveLength(1);
      expect(pullRequestsOf(`issue-${issue}`)).toHaveLength(number === undefined ? 0 : 1);
      const checks = forges.github.answers.checkRuns.filter(({ external_id: id }) => id === runId);
      expect(new Set(checks.map(({ head_sha: sha }) => sha)).size).toBe(checks.length);
      await until(() => checks.every(({ status }) => status === 'completed'), TURN_MS, 'the end of the checks');
      expect(forges.github.answers.reactions.filter((one) => one === `issues/${issue}`)).toHaveLength(1);
      expect(forges.github.violations).toEqual([]);
    },
  );
});
