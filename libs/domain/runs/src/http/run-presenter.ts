import { Injectable } from '@nestjs/common';
import { PrincipalDirectory } from '#platform/auth';
import { Settings } from '#platform/config';
import {
  type Approval,
  HOSTED_POOL,
  poolOf,
  type PrincipalRef,
  tokensOf,
  withDebugWindow,
  withWaitingReason,
} from '#execution/executions';
import { isCancellableKind, isoDuration, type Run } from '../domain/run.js';
import { type Artifact, listedData } from '../domain/artifact.js';
import { effectiveConfig, skillName } from '../domain/resolve-config.js';
import type { RunArtifact } from './dto/artifact.dto.js';
import type { ApprovalItem, PrincipalInfo, RunItem } from './dto/run-responses.dto.js';

type Principals = ReadonlyMap<string, PrincipalInfo>;

/** Runs and approvals as the wire shows them. Principals of a whole page cost one query. */
@Injectable()
export class RunPresenter {
  constructor(
    private readonly directory: PrincipalDirectory,
    private readonly settings: Settings,
  ) {}

  async runs(runs: readonly Run[]): Promise<RunItem[]> {
    const principals = await this.directory.describe(runs.flatMap(({ creator, executor }) => [creator, executor]));
    return runs.map((run) => toRunItem(run, principals, this.settings));
  }

  async run(run: Run): Promise<RunItem> {
    const principals = await this.directory.describe([run.creator, run.executor]);
    return toRunItem(run, principals, this.settings);
  }

  async approvals(approvals: readonly (Approval & { readonly run_title?: string })[]): Promise<ApprovalItem[]> {
    const deciders = approvals.flatMap(({ decided_by_type: type, decided_by_uid: uid }) =>
      uid !== null && (type === 'user' || type === 'service_account') ? [{ type, uid }] : [],
    );
    const principals = await this.directory.describe(deciders);
    return approvals.map((approval) => toApprovalItem(approval, principals));
  }
}

const info = (ref: PrincipalRef, principals: Principals): PrincipalInfo =>
  principals.get(ref.uid) ?? { type: ref.type, uid: ref.uid };

function toRunItem(run: Run, principals: Principals, settings: Settings): RunItem {
  const { publicUrl, selfHostedCancel } = settings;
  return {
    run_id: run.id,
    task_id: run.id,
    root_run_id: run.ancestorRunIds[0] ?? run.id,
    title: run.title,
    state: run.state,
    prompt: run.prompt,
    ...(run.submittedPrompt === null ? {} : { submitted_prompt: run.submittedPrompt }),
    created_at: run.createdAt.toISOString(),
    updated_at: run.updatedAt.toISOString(),
    started_at: run.startedAt?.toISOString() ?? null,
    finished_at: run.finishedAt?.toISOString() ?? null,
    ...(run.runTimeMs === null ? {} : { run_time: isoDuration(run.runTimeMs) }),
    ...statusMessage(run),
    source: run.source,
    execution_location: run.executionLocation,
    ...(run.sessionId === null ? {} : { session_id: run.sessionId }),
    session_link: `${publicUrl}/runs/${run.id}`,
    ...(run.triggerUrl === null ? {} : { trigger_url: run.triggerUrl }),
    creator: info(run.creator, principals),
    executor: info(run.executor, principals),
    agent_config: effectiveConfig(run.config),
    ...(run.conversationId === null ? {} : { conversation_id: run.conversationId }),
    ...(run.parentRunId === null ? {} : { parent_run_id: run.parentRunId }),
    ...(run.forkedFromRunId === null
      ? {}
      : { forked_from: { run_id: run.forkedFromRunId, sequence: run.forkedFromSeq ?? 0 } }),
    ...(run.rerunOf === null ? {} : { rerun_of: run.rerunOf }),
    ...(run.metadata?.factory_uid === undefined ? {} : { factory_uid: run.metadata.factory_uid }),
    ...(run.schedule === null ? {} : { schedule: { ...run.schedule } }),
    ...(run.metadata === null ? {} : { metadata: { ...run.metadata } }),
    is_sandbox_running: run.hasLiveExecution,
    is_run_type_cancellable: isCancellableKind(run, selfHostedCancel),
    debug_agent_available: run.debugWindow !== null,
    ...agentSkill(run),
    ...(run.artifacts.length === 0 ? {} : { artifacts: run.artifacts.map(toRunArtifact) }),
    ...requestUsage(run, settings),
    scope:
      run.owner.teamUid === null ? { type: 'User', uid: run.owner.userUid } : { type: 'Team', uid: run.owner.teamUid },
  };
}

/** Of a run that an older version has created, what its spec tells. */
function agentSkill({ skill, config: { skill_spec: spec } }: Run): Pick<RunItem, 'agent_skill'> {
  if (skill === null) return spec === undefined ? {} : { agent_skill: { name: skillName(spec), full_path: spec } };
  const { specs: _inner, ...shown } = skill;
  return { agent_skill: shown };
}

function statusMessage({ statusMessage, debugWindow, waitingReason, owner }: Run): Pick<RunItem, 'status_message'> {
  const shown = withDebugWindow(withWaitingReason(statusMessage, waitingReason, owner), debugWindow);
  return shown === null ? {} : { status_message: { ...shown } };
}

/** Left out while there is nothing to report. Costs in credits are never set: this service counts in US dollars. */
function requestUsage(run: Run, { computeCostPerHour }: Settings): Pick<RunItem, 'request_usage'> {
  const { usage, runTimeMs, config, executionLocation } = run;
  const cost = usage?.cost_usd;
  const tokens = tokensOf(usage);
  const compute =
    executionLocation === 'REMOTE' && poolOf(config) === HOSTED_POOL ? (runTimeMs ?? 0) * computeCostPerHour : 0;
  if (cost === undefined && tokens === undefined && compute === 0) return {};
  return {
    request_usage: {
      ...(cost === undefined ? {} : { inference_cost_usd: cost }),
      ...(compute === 0 ? {} : { compute_cost_usd: Math.round(compute / 3.6) / 1_000_000 }),
      ...(tokens === undefined ? {} : { total_tokens: tokens }),
    },
  };
}

const toRunArtifact = (artifact: Artifact): RunArtifact => ({
  artifact_type: artifact.type,
  created_at: artifact.createdAt.toISOString(),
  data: listedData(artifact),
});

function toApprovalItem(approval: Approval & { run_title?: string }, principals: Principals): ApprovalItem {
  return {
    approval_id: approval.id,
    run_id: approval.run_id,
    ...(approval.run_title === undefined ? {} : { run_title: approval.run_title }),
    kind: approval.kind,
    ...(approval.tool_call_id === null ? {} : { tool_call_id: approval.tool_call_id }),
    title: approval.title,
    ...(approval.input === null ? {} : { input: approval.input }),
    options: approval.options,
    ...(approval.kind === 'question' ? { allow_text: approval.allow_text } : {}),
    ...(approval.subject === null ? {} : { subject: { ...approval.subject } }),
    state: approval.state,
    ...(approval.answer === null ? {} : { answer: approval.answer }),
    ...(approval.always ? { always: true } : {}),
    ...(approval.rule_id === null ? {} : { rule_id: approval.rule_id }),
    ...(approval.decided_via === null ? {} : { decided_via: approval.decided_via }),
    ...deciderOf(approval, principals),
    ...(approval.note === null ? {} : { note: approval.note }),
    requested_at: approval.requested_at.toISOString(),
    expires_at: approval.expires_at.toISOString(),
    ...(approval.decided_at === null ? {} : { decided_at: approval.decided_at.toISOString() }),
  };
}

function deciderOf(approval: Approval, principals: Principals): Pick<ApprovalItem, 'decided_by'> {
  const { decided_by_type: type, decided_by_uid: uid, decided_by_name: name } = approval;
  if (type === null || uid === null) return {};
  if (type === 'user' || type === 'service_account') return { decided_by: info({ type, uid }, principals) };
  return { decided_by: { type, uid, ...(name !== null && { display_name: name }) } };
}
