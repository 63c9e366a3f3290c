import { Injectable } from '@nestjs/common';
import { AgentDirectory, ConfiguredHarnesses } from '#domain/agents';
import { EnvironmentDirectory } from '#domain/environments';
import { type AgentConfig, DEFAULT_HARNESS, ExecutionsStore, RunWaits } from '#execution/executions';
import {
  type ChildRunAnswer,
  MAX_AWAITED_RUNS,
  type StartRunAnswer,
  type StartRunRequest,
  type WaitForRunsAnswer,
  type WaitForRunsRequest,
} from '#execution/runner-protocol';
import { type Caller, PrincipalDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import { isUuid } from '#platform/kernel';
import { childConfig } from '../domain/child-config.js';
import type { Run } from '../domain/run.js';
import { restoreSubmitted, withoutSkills } from '../domain/submitted-input.js';
import { ChildRunsStore } from '../persistence/child-runs.store.js';
import { RunsStore } from '../persistence/runs.store.js';
import { ConfigSecrets } from './config-secrets.js';
import { CreateRun, launchRefusal } from './create-run.js';
import { PersonalRunPolicy } from './personal-run-policy.js';

type Started = Omit<StartRunRequest, 'lease_epoch'>;
type Wait = Omit<WaitForRunsRequest, 'lease_epoch'>;

const UNKNOWN = 'No run with this id was started by this run.';
const RIGHTS_ENDED =
  'A principal that has created this run, or executes it, may no longer create such runs: the account was disabled or deleted, or its role has changed.';
const ENVIRONMENT_REFUSED =
  '`environment_id` must be an environment of the team of this run, or one that is shared with the team.';
const CHOICE_REFUSED =
  'A run whose agent can have read text from outside, such as that of an event, can start only runs with its own environment, agent identity and harness.';
const HARNESS_REFUSED =
  'It is not known whether the agent of `harness` or of the agent identity requests permission before it acts, and the permission policy of this run requires it.';

/**
 * Runs that agents start, for the tools of their run. They have the owner, the creator and the agent identity of the run, and are created
 * with the rights that its creator has at this moment. An agent sees only what its run, or a run below it, has started.
 */
@Injectable()
export class ChildRuns {
  constructor(
    private readonly executions: ExecutionsStore,
    private readonly runs: RunsStore,
    private readonly store: ChildRunsStore,
    private readonly createRun: CreateRun,
    private readonly agents: AgentDirectory,
    private readonly environments: EnvironmentDirectory,
    private readonly harnesses: ConfiguredHarnesses,
    private readonly principals: PrincipalDirectory,
    private readonly personalRuns: PersonalRunPolicy,
    private readonly secrets: ConfigSecrets,
    private readonly waits: RunWaits,
    private readonly settings: Settings,
  ) {}

  async start(executionId: string, leaseEpoch: number, request: Started): Promise<StartRunAnswer | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    const found = runId === null ? null : await this.runs.findForAssignment(runId);
    if (!found) return 'lease_lost';
    const { run } = found;
    // 1. A repeated request gets its first answer, whatever has changed since.
    const launchKey = `run/${executionId}/${request.key}`;
    const known = (await this.createRun.findLaunched([launchKey])).get(launchKey);
    if (known !== undefined) return this.started(run, known);
    // 2. Whose rights apply, and what they do not decide.
    const since = run.owner.userUid === null ? run.createdAt : found.requestedAt;
    const caller = await this.principals.callerNow(run.creator, run.owner.teamUid, since);
    if (!caller || !(await this.personalRuns.mayBegin(found))) return { problem: RIGHTS_ENDED };
    const depth = run.ancestorRunIds.length + 1;
    const { maxRunDepth } = this.settings;
    if (depth > maxRunDepth)
      return {
        problem: `This run is ${depth - 1} levels below the first run, and the limit (MAX_RUN_DEPTH) is ${maxRunDepth}.`,
      };
    const own = await this.ownIdentity(run);
    const identity = request.agent_identity_uid ?? own;
    if (this.choosesOther(run, request, own) && (await this.store.isFromOutside(run.id)))
      return { problem: CHOICE_REFUSED };
    if (await this.evadesPolicy(run, request, own)) return { problem: HARNESS_REFUSED };
    if (!(await this.mayUseEnvironment(run, request))) return { problem: ENVIRONMENT_REFUSED };
    // 3. The run, as it is created by its creator.
    return this.create(run, caller, request, { launchKey, identity, executionId, leaseEpoch, isOwn: identity === own });
  }

  /** Null in place of a run that is not below the run of the execution. */
  async get(executionId: string, leaseEpoch: number, wanted: string): Promise<ChildRunAnswer | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const [run] = isUuid(wanted) ? await this.store.read(runId, [wanted]) : [];
    return run ? { run } : { problem: UNKNOWN };
  }

  async wait(
    executionId: string,
    leaseEpoch: number,
    { run_ids: given, active: withActive = false, mode, wait }: Wait,
    abort: AbortSignal,
  ): Promise<WaitForRunsAnswer | 'lease_lost'> {
    const runId = await this.executions.renewOfRun(executionId, leaseEpoch);
    if (runId === null) return 'lease_lost';
    const found = await this.store.startedBelow(runId, given);
    const unknown = given.filter((id) => !found.has(id));
    if (unknown.length > 0) return { problem: `${UNKNOWN} (${unknown.join(', ')})` };
    const active = withActive ? await this.store.findActive(runId, MAX_AWAITED_RUNS) : [];
    const runIds = [...new Set([...given, ...active])].slice(0, MAX_AWAITED_RUNS);
    const result = await this.waits.wait({ executionId, leaseEpoch, runIds, mode, waitMs: wait * 1000 }, abort);
    if (result === 'lease_lost') return result;
    if (result === 'waiting') return { is_over: false, run_ids: runIds };
    return { is_over: true, run_ids: runIds, runs: await this.store.read(runId, runIds) };
  }

  private async create(
    run: Run,
    caller: Caller,
    request: Started,
    context: {
      readonly launchKey: string;
      readonly identity: string | undefined;
      readonly isOwn: boolean;
      readonly executionId: string;
      readonly leaseEpoch: number;
    },
  ): Promise<StartRunAnswer> {
    const { launchKey, identity, isOwn, executionId, leaseEpoch } = context;
    const { prompt, title, environment_id: environmentId, harness, model_id: modelId } = request;
    const choice = { hasOtherIdentity: !isOwn, environmentId, harness, modelId };
    const result = await this.createRun.executeChild(
      caller,
      {
        owner: run.owner,
        prompt,
        ...(title !== undefined && { title }),
        ...(identity !== undefined && { agentIdentityUid: identity }),
        config: childConfig(run, await this.submittedConfig(run), choice),
        // An agent that plans does not act through others.
        mode: (await this.store.lastMode(run.id)) ?? run.mode,
        interactive: run.interactive,
        parentRunId: run.id,
        source: 'ORCHESTRATION',
        idempotency: null,
        launchKey,
      },
      { runId: run.id, executionId, leaseEpoch },
    );
    if (result.kind === 'created') return this.started(run, result.runId);
    if (result.kind === 'limited') return { problem: result.detail };
    if (result.kind === 'not_authorized' && !('errors' in result && result.errors)) return { problem: RIGHTS_ENDED };
    return { problem: sentence(launchRefusal(result).reason) };
  }

  private async started(run: Run, childId: string): Promise<StartRunAnswer> {
    const [child] = await this.store.read(run.id, [childId]);
    return child ? { run_id: child.run_id, state: child.state, title: child.title } : { problem: UNKNOWN };
  }

  /** As it was submitted: what the identity and the team have added is added again, as it is now. */
  private async submittedConfig(run: Run): Promise<AgentConfig> {
    const stored = this.secrets.openForRun(run.id, run.config);
    const submitted = await this.runs.findSubmitted(run.id);
    return submitted === null ? withoutSkills(stored) : restoreSubmitted(stored, submitted);
  }

  /** The agent identity that executes the run; undefined: another principal does. */
  private async ownIdentity({ executor, owner: { teamUid } }: Run): Promise<string | undefined> {
    if (executor.type !== 'service_account' || teamUid === null) return undefined;
    return (await this.agents.findIdentity(executor.uid, teamUid))?.uid;
  }

  /** Not a personal one of the creator: every member of the team can tell the agent what to start. */
  private async mayUseEnvironment({ owner: { teamUid }, config }: Run, request: Started): Promise<boolean> {
    const { environment_id: uid } = request;
    if (uid === undefined || uid === config.environment_id || teamUid === null) return true;
    return (await this.environments.findUsable(uid, { teamUid, caller: null })) !== null;
  }

  private choosesOther({ config }: Run, request: Started, own: string | undefined): boolean {
    const { agent_identity_uid: identity, environment_id: environmentId } = request;
    return (
      (identity !== undefined && identity !== own) ||
      (environmentId !== undefined && environmentId !== config.environment_id) ||
      hasOtherHarness(config, request)
    );
  }

  /** The policy of the run applies to what agents request. */
  private async evadesPolicy(run: Run, request: Started, own: string | undefined): Promise<boolean> {
    const { permission_policy: policy = run.interactive ? 'ask' : 'allow' } = run.config;
    if (policy === 'allow') return false;
    const harness = await this.harnessOf(run, request, own);
    return harness !== harnessIn(run.config) && !this.harnesses.requestsPermission(harness);
  }

  /** Which the run that is requested has. */
  private async harnessOf(run: Run, request: Started, own: string | undefined): Promise<string> {
    const { harness, agent_identity_uid: uid } = request;
    if (harness !== undefined) return harness;
    if (uid === undefined || uid === own) return harnessIn(run.config);
    const identity = await this.agents.findIdentity(uid, run.owner.teamUid ?? '');
    return identity?.harness?.type ?? DEFAULT_HARNESS;
  }
}

const harnessIn = ({ harness }: AgentConfig): string => harness?.type ?? DEFAULT_HARNESS;
const hasOtherHarness = (config: AgentConfig, { harness: chosen }: Started): boolean =>
  chosen !== undefined && chosen !== harnessIn(config);
const sentence = (text: string): string => (/[.!?]$/.test(text) ? text : `${text}.`);
