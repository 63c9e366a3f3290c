import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ModelServer } from '../../libs/testing/src/model-server/index.js';
import { ForgeFixture } from '../support/forge-fixture.js';
import { Installation, type Program } from '../support/installation.js';
import { GithubIssueJourney, GitlabIssueJourney, type JourneyPrompts } from '../support/issue-journey.js';
import { installedAgents, MODEL, skipReason } from './installed-agents.js';

const AGENT = 'claude';
const TOKEN = `token-${randomBytes(15).toString('base64url')}`;
const KEY = 'sk-of-the-team-0123456789abcdef';
const TURN_MS = 90_000;

let directory: string;
let models: ModelServer;
let forges: ForgeFixture;
let installation: Installation;
let server: Program;

beforeAll(async () => {
  if (skipReason !== null) return;
  directory = mkdtempSync(join(tmpdir(), 'headrace-agents-issue-test-'));
  models = await ModelServer.start(KEY);
  forges = await ForgeFixture.start(TOKEN);
  const file = join(directory, 'harnesses.json');
  const [entry] = installedAgents().flatMap((agent) => (agent.id === AGENT ? [agent.entry(models.url)] : []));
  // The model of the test uses tools that it is offered, and does not search for others.
  const harnesses = { [AGENT]: { ...entry, env: { ...entry?.env, ENABLE_TOOL_SEARCH: 'false' } } };
  writeFileSync(file, JSON.stringify({ harnesses }));
  installation = await Installation.create({ ...forges.settings, HARNESSES_FILE: file, LEASE_TTL: '30s' });
  server = await installation.up();
  expect(await installation.call('PUT', '/secrets/model-key', { value: KEY })).toMatchObject({ status: 200 });
});

afterAll(async () => {
  if (skipReason !== null) return;
  await server.stopCleanly('SIGINT');
  await Promise.all([models.stop(), forges.stop()]);
  installation.remove();
  rmSync(directory, { recursive: true });
});

/** Each step is a call of a tool that the model requests: of the agent's shell, and of the run's MCP server. */
const prompts = (branch: string, file: string): JourneyPrompts => ({
  branch,
  fix: [
    `RUN: git switch --quiet --create ${branch} && echo fixed > ${file} && git add .`,
    'THEN RUN: git commit --quiet -m "Fix the issue"',
    `THEN RUN: git push --quiet origin ${branch}`,
    'THEN CALL: create_pull_request {"title":"Fix the issue","body":"The text was wrong."}',
  ].join('\n'),
  revise: [
    `RUN: echo revised > ${file} && git commit --quiet -am "Revise the fix"`,
    `THEN RUN: git push --quiet origin ${branch}`,
  ].join('\n'),
});

const agentConfig = {
  harness: { type: AGENT, model_id: MODEL },
  harness_auth_secrets: { [`${AGENT}_auth_secret_name`]: 'model-key' },
};

describe.skipIf(skipReason !== null)('an issue that a real agent solves', { timeout: 240_000 }, () => {
  it('becomes a pull request on GitHub, is revised after a review by the same run, and is merged', async () => {
    const options = { installation, forges, agentConfig, turnMs: TURN_MS, prompts: prompts('issue-1', 'issue.txt') };
    const journey = new GithubIssueJourney(options);
    await journey.prepare();
    await journey.labelIssue();
    expect(await journey.expectRun()).toMatchObject({ source: 'GITHUB_WEBHOOK' });
    expect(forges.github.pullRequests).toMatchObject([{ title: 'Fix the issue', head: 'issue-1', base: 'main' }]);
    await journey.expectAnswers();
    await journey.requestChanges();
    await journey.expectRevision();
    expect(forges.commitsOf('issue-1')).toEqual(['Revise the fix', 'Fix the issue', 'Add a text']);
    await journey.merge();
    expect(forges.github.violations).toEqual([]);
    await expectAgent(journey.runId);
  });

  it('becomes a merge request on GitLab, is revised after a comment by the same run, and is merged', async () => {
    const options = { installation, forges, agentConfig, turnMs: TURN_MS, prompts: prompts('issue-7', 'seven.txt') };
    const journey = new GitlabIssueJourney(options, TOKEN);
    await journey.prepare();
    await journey.labelIssue();
    await journey.expectRun();
    expect(forges.gitlab.mergeRequests).toMatchObject([{ title: 'Fix the issue', source_branch: 'issue-7' }]);
    await journey.expectAnswers();
    await journey.requestChanges();
    await journey.expectRevision();
    expect(forges.commitsOf('issue-7')).toEqual(['Revise the fix', 'Fix the issue', 'Add a text']);
    await journey.merge();
    await expectAgent(journey.runId);
  });

  /** The work was done by the agent, in one session, and nothing of it shows the credentials. */
  async function expectAgent(runId: string): Promise<void> {
    const answers = await Promise.all(
      ['', '/timeline', '/conversation'].map((path) => installation.call('GET', `/agent/runs/${runId}${path}`)),
    );
    const shown = JSON.stringify(answers.map(({ body }) => body));
    expect(shown).toContain('The command has run.');
    expect(shown).toContain('create_pull_request');
    for (const secret of [TOKEN, KEY, ...forges.github.appTokens]) {
      expect(shown).not.toContain(secret);
      expect(models.requests.map(({ body }) => body).join('\n')).not.toContain(secret);
    }
  }
});

// A reason that can be read in the report, instead of an empty file.
if (skipReason !== null) it.skip(`issues are not solved: ${skipReason}`, () => undefined);
