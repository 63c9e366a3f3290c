import { generateKeyPairSync, randomBytes, randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ForgeFixture } from '../support/forge-fixture.js';
import { githubDelivery, signedHeaders } from '../support/github-deliveries.js';
import { until } from '../support/installation.js';
import { Witness } from '../support/witness.js';
import { CRASH_SETUPS, type CrashSetup, type Victim } from './crash-setups.js';
import { isLong } from '../support/long-tests.js';

/** When the request has arrived at the forge, which executes it: the killed process does not know. */
type Step = readonly [name: string, at: 'git' | 'api' | 'ingress', line: RegExp];
type Kill = readonly [Step, Victim];
type Cases = readonly (readonly Kill[])[];

const CLONE: Step = ['the clone', 'git', /^POST .*git-upload-pack/];
const PUSH: Step = ['the push', 'git', /^POST .*git-receive-pack/];
const PULL_REQUEST: Step = ['the creation of the pull request', 'api', /^POST .*\/pulls$/];
const REACTION: Step = ['the reaction', 'api', /^POST .*\/reactions$/];
const COMMENT: Step = ['the creation of the comment', 'api', /^POST .*\/comments$/];
const EDIT: Step = ['the edit of the comment', 'api', /^PATCH .*\/issues\/comments\//];
const CHECK: Step = ['the creation of the check run', 'api', /^POST .*\/check-runs$/];
const CHECK_END: Step = ['the edit of the check run', 'api', /^PATCH .*\/check-runs\//];
const TOKEN: Step = ['the creation of a token of the App', 'api', /^POST .*\/access_tokens$/];
/** The forge does not know whether it was accepted, and delivers it again. */
const HALF: Step = ['a half of the delivery', 'ingress', /^/];
const DELIVERY: Step = ['the delivery', 'ingress', /^/];

const one = (step: Step, ...victims: readonly Victim[]): Cases => victims.map((victim) => [[step, victim]]);
const IN_CHAIN: readonly Kill[] = [
  [DELIVERY, 'ingress'],
  [PUSH, 'worker'],
  [CHECK, 'processor'],
];
/** Each case: what is killed during one run. */
const CASES: readonly (readonly [setup: keyof typeof CRASH_SETUPS, cases: Cases])[] = [
  [
    'one server',
    [
      // The first ones need tokens that end soon.
      ...one(TOKEN, 'server', 'postgres'),
      ...[CLONE, PUSH, PULL_REQUEST].flatMap((step) => one(step, 'server', 'runner', 'agent', 'postgres')),
      ...[REACTION, COMMENT, EDIT, CHECK, CHECK_END].flatMap((step) => one(step, 'server', 'postgres')),
    ],
  ],
  [
    'separate processes',
    [
      ...one(TOKEN, 'api', 'processor', 'worker'),
      IN_CHAIN,
      ...one(HALF, 'ingress'),
      ...one(DELIVERY, 'ingress', 'processor', 'api'),
      ...[CLONE, PUSH, PULL_REQUEST].flatMap((step) =>
        one(step, 'api', 'ingress', 'processor', 'worker', 'runner', 'agent'),
      ),
      ...[REACTION, COMMENT, EDIT, CHECK, CHECK_END].flatMap((step) => one(step, 'api', 'ingress', 'processor')),
    ],
  ],
];

const ENDED = ['SUCCEEDED', 'FAILED', 'ERROR'];
const PERMISSIONS = { checks: 'write', contents: 'write', issues: 'write', metadata: 'read', pull_requests: 'write' };
/** Less than the service keeps a token before its end. */
const SHORT_TOKEN_MS = 240_000;
const TURN_MS = 60_000;
/** Of an issue; pull requests have the numbers below. */
const FIRST_ISSUE = 1001;
const NUMBER =
  'n=$(grep -o \'"number":10[0-9]*\' "$HEADRACE_ATTACHMENTS_DIR/event-payload.json" | head -1 | cut -d: -f2)';
/** `ends`: directory of the files for which turns wait. The check of a run that has ended before the first answer is never edited. */
const fix = (ends: string): string =>
  [
    `\`\`\`sh\n${NUMBER} && git switch --quiet --create issue-$n && echo fixed > $n.txt && git add . && git commit --quiet -m "Fix $n" && git push --quiet origin issue-$n\n\`\`\``,
    '```tool name=create_pull_request\n{"title":"Fix the issue"}\n```',
    `\`\`\`sh\n${NUMBER} && while [ ! -e ${ends}/$n ]; do sleep 0.1; done\n\`\`\``,
  ].join('\n');
/** The workspace of a run that was lost may have no commit. */
const REVISE =
  '```sh\ngit commit --quiet --allow-empty -m "Revise" && git push --quiet origin HEAD || echo "nothing to push to"\n```';

describe.runIf(isLong).each(CASES)(
  'a run from an issue to a pull request, with %s,',
  { timeout: 180_000 },
  (name, chosen) => {
    let forges: ForgeFixture;
    let setup: CrashSetup;
    /** A turn ends when a file with the number of its issue exists. */
    let ends: Witness;
    let ingress: string;
    const secret = randomBytes(20).toString('hex');

    beforeAll(async () => {
      forges = await ForgeFixture.start(randomBytes(20).toString('hex'));
      setup = await CRASH_SETUPS[name](forges.settings);
      ends = new Witness();
      const { installation } = setup;
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
      const agentConfig = { environment_id: environment, ...setup.config };
      const agent = { enabled: true, agent_config: agentConfig, concurrency: { policy: 'continue' } };
      const trigger = (event: string): object => ({ provider: 'github', event });
      await created(`${factory}/automations`, {
        ...agent,
        name: 'fix',
        prompt: fix(ends.directory),
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
      await setup.close();
      await forges.stop();
      ends.remove();
    });

    // eslint-disable-next-line @typescript-eslint/no-explicit-any
    async function created(path: string, body: object): Promise<any> {
      const answer = await setup.installation.call('POST', path, body);
      expect(answer, JSON.stringify(answer.body)).toMatchObject({ status: 201 });
      return answer.body;
    }
    /** As the forge does, which repeats what had no response. `killed`: during the first attempt. */
    async function deliver(kind: string, action: string, changes: object, killed?: Kill): Promise<void> {
      const repository = { full_name: 'acme/app', name: 'app', html_url: `${forges.git.url}/acme/app` };
      const delivery = githubDelivery(kind, action, { repository, ...changes });
      const headers = signedHeaders(delivery, randomUUID(), secret);
      if (killed) {
        const [step, victim] = killed;
        await interruptedPost({ url: ingress, headers, body: delivery.body }, step === HALF, () => setup.kill(victim));
        await setup.restart(victim);
      }
      const response = await fetch(ingress, { method: 'POST', headers, body: delivery.body });
      expect([response.status, await response.text()]).toEqual([202, expect.stringContaining('delivery_id')]);
    }
    /** The first kill, and after each the next one. Returns what has been killed. */
    function prepare(kills: readonly Kill[]): Victim[] {
      const killed: Victim[] = [];
      forges.git.interrupt = forges.github.interrupt = null;
      const prepareNext = (): void => {
        const [next] = kills.slice(killed.length);
        if (!next) return;
        const [[, at, line], victim] = next;
        const call = (): void => {
          killed.push(victim);
          setup.kill(victim);
          prepareNext();
        };
        if (at === 'git') forges.git.interrupt = { line, call };
        else forges.github.interrupt = { line, call };
      };
      prepareNext();
      return killed;
    }
    /** Nothing while the server or the database is away. */
    const listed = async (): Promise<unknown[]> => {
      const answer = await setup.installation.call('GET', '/agent/runs?limit=100').catch(() => null);
      return answer?.status === 200 ? (answer.body.runs as unknown[]) : [];
    };
    const runsFor = async (issue: number): Promise<string[]> =>
      ((await listed()) as { run_id: string; metadata?: { target?: string } }[])
        .filter(({ metadata }) => metadata?.target === `acme/app#${issue}`)
        .map(({ run_id: runId }) => runId);
    /** False: there is none, or the answer is not known. */
    const knownRuns = async (issue: number): Promise<string[] | false> => {
      const runs = await runsFor(issue);
      return runs.length > 0 && runs;
    };
    const commentsAt = (number: number): string[] =>
      forges.github.answers.comments.filter((one) => one.number === number).map(({ body }) => body);
    const shownState = (state: string): string => (state === 'SUCCEEDED' ? '**has succeeded**' : '**has failed');
    const pullRequestsOf = (branch: string) => forges.github.pullRequests.filter(({ head }) => head === branch);

    it.each(
      chosen.map((kills, index) => {
        const title = kills.map(([[step], victim]) => `that kill -9 ends the ${victim} after ${step}`);
        return [title.join(', '), kills, FIRST_ISSUE + index] as const;
      }),
    )('survives %s', async (_title, kills, issue) => {
      const { github } = forges;
      if (github.app) github.app.tokenMs = kills[0]?.[0] === TOKEN ? SHORT_TOKEN_MS : 3_600_000;
      const duringDelivery = kills.find(([[, at]]) => at === 'ingress');
      const later = kills.filter((kill) => kill !== duringDelivery);
      const labeled = { issue: { number: issue }, label: { name: 'agent' } };
      const end = (): void => writeFileSync(join(ends.directory, String(issue)), '');
      const isForEdit = kills.some(([step]) => step === CHECK_END);
      if (!isForEdit) end();
      let killed = prepare(isForEdit ? [] : later);
      await deliver('issues', 'labeled', labeled, duringDelivery);
      if (isForEdit) {
        // Before, the check of the run of another case may be edited.
        const [id] = await until(() => knownRuns(issue), TURN_MS, 'the run');
        const isOfRun = ({ external_id: of }: { readonly external_id: string }): boolean => of === id;
        await until(() => github.answers.checkRuns.some(isOfRun), TURN_MS, 'the check');
        killed = prepare(later);
        end();
      }
      for (const [index, [, victim]] of later.entries()) {
        await until(() => killed.length > index, TURN_MS, 'the step');
        await setup.restart(victim);
      }
      const [runId = '', ...others] = await until(() => knownRuns(issue), TURN_MS, 'the run');
      expect(others).toEqual([]);
      const first = await setup.installation.waitFor(runId, ENDED, TURN_MS);
      if (first.state === 'ERROR') expect(first.status_message.error_code).toBe('infrastructure_timeout');
      await until(
        () => commentsAt(issue)[0]?.includes(shownState(first.state)) === true,
        TURN_MS,
        'the end in the comment',
      );
      expect(commentsAt(issue)).toHaveLength(1);
      expect(pullRequestsOf(`issue-${issue}`).length).toBeLessThanOrEqual(1);

      // A person answers: the same run continues, and its comment says how that has ended. A run whose agent has never started has no
      // conversation to continue, so another one starts.
      const number = pullRequestsOf(`issue-${issue}`)[0]?.number;
      const hasConversation = first.conversation_id !== undefined;
      if (!hasConversation)
        expect(first.status_message.error_code).toMatch(/^(infrastructure_timeout|environment_setup_failed)$/);
      const comment = { comment: { author_association: 'OWNER' }, issue: { number: issue, active_lock_reason: null } };
      await deliver('issue_comment', 'created', comment);
      const continued = await until(
        async () => {
          if (!hasConversation) return (await runsFor(issue)).find((id) => id !== runId) ?? false;
          const { updated_at: at } = await setup.installation.run(runId);
          return at !== undefined && at !== first.updated_at && runId;
        },
        TURN_MS,
        'the follow-up',
      );
      const second = await setup.installation.waitFor(continued, ENDED, TURN_MS);
      const showsEnd = (text: string): boolean => text.includes(continued) && text.includes(shownState(second.state));
      await until(() => commentsAt(issue).some(showsEnd), TURN_MS, 'the second end');
      const runs = [...new Set([continued, runId])];
      expect(await runsFor(issue)).toEqual(runs);
      expect(commentsAt(issue)).toHaveLength(runs.length);
      expect(pullRequestsOf(`issue-${issue}`)).toHaveLength(number === undefined ? 0 : 1);
      const checks = forges.github.answers.checkRuns.filter(({ external_id: id }) => runs.includes(id));
      expect(new Set(checks.map(({ head_sha: sha }) => sha)).size).toBe(checks.length);
      await until(() => checks.every(({ status }) => status === 'completed'), TURN_MS, 'the end of the checks');
      expect(forges.github.answers.reactions.filter((one) => one === `issues/${issue}`)).toHaveLength(1);
      expect(forges.github.violations).toEqual([]);
    });
  },
);

/** Resolves when the delivery has no response, or its response is lost. */
function interruptedPost(
  { url, headers, body }: { url: string; headers: Record<string, string>; body: string },
  isHalf: boolean,
  kill: () => void,
): Promise<void> {
  return new Promise((resolve) => {
    const bytes = Buffer.from(body);
    const sent = request(url, { method: 'POST', headers: { ...headers, 'content-length': bytes.length } });
    sent.on('error', () => resolve());
    sent.on('response', (response) => {
      kill();
      response.destroy();
      resolve();
    });
    if (isHalf) sent.write(bytes.subarray(0, bytes.length / 2), kill);
    else sent.end(bytes);
  });
}
