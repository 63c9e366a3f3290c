import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  NumberField,
  object,
  ObjectField,
  PageInfo,
  StringField,
  text,
} from '#libs/http';
import { ERROR_CODES, type ErrorCode } from '#libs/kernel';
import {
  EXECUTION_LOCATIONS,
  RUN_SOURCE_TYPES,
  type RunExecutionLocation,
  type RunSourceType,
} from '../../domain/run.js';
import { RUN_STATES, type RunState } from '../../domain/run-state.js';
import {
  LIFECYCLE_KINDS,
  type LifecycleKind,
  PERMISSION_SUBJECTS,
  type PermissionSubject,
} from '#libs/runner-protocol';
import { APPROVAL_STATES, type ApprovalState, DECISION_MAKERS } from '../../domain/approval.js';
import { AmbientAgentConfig } from './agent-config.dto.js';
import { RUN_ARTIFACT_SCHEMA, type RunArtifact } from './artifact-responses.dto.js';

const OPTIONAL = { optional: true } as const;

export class RunAgentResponse {
  @StringField({ description: 'The new run.' }) run_id: string;
  @StringField({ deprecated: true, description: 'The same as run_id.' }) task_id: string;
  @EnumField(RUN_STATES, { name: 'RunState' }) state: RunState;
  @BooleanField({ ...OPTIONAL, description: 'true: all slots are taken, the run waits for one.' })
  at_capacity?: boolean;
}

export class PrincipalInfo {
  @EnumField(['user', 'service_account'], OPTIONAL) type?: 'user' | 'service_account';
  @StringField(OPTIONAL) uid?: string;
  @StringField(OPTIONAL) display_name?: string;
  @StringField(OPTIONAL) email?: string;
  @StringField(OPTIONAL) photo_url?: string;
}

export class RunStatusMessage {
  @StringField() message: string;
  @EnumField(Object.keys(ERROR_CODES), { ...OPTIONAL, name: 'ErrorCode' }) error_code?: ErrorCode;
  @BooleanField(OPTIONAL) retryable?: boolean;
  @DateTimeField({
    ...OPTIONAL,
    description: 'While a debug window is open: a follow-up before then reaches the session whose set-up failed.',
  })
  session_debug_until?: string;
  @BooleanField({ ...OPTIONAL, description: 'While a debug window is open: its agent works on a follow-up.' })
  debug_agent_active?: boolean;
}

export class RunScopeInfo {
  @EnumField(['User', 'Team']) type: 'User' | 'Team';
  @StringField(OPTIONAL) uid?: string;
}

export class AgentSkillInfo {
  @StringField(OPTIONAL) name?: string;
  @StringField(OPTIONAL) description?: string;
  @StringField({
    ...OPTIONAL,
    description: '`owner/repo:path/to/SKILL.md`.',
    example: 'acme/app:skills/review/SKILL.md',
  })
  full_path?: string;
  @StringField({ ...OPTIONAL, description: 'In place of full_path: a skill that ships with Headrace.' })
  bundled_skill_id?: string;
}

export class RunScheduleInfo {
  @StringField() schedule_id: string;
  @StringField() schedule_name: string;
  @StringField() cron_schedule: string;
}

/** What the run's agents have reported; costs in credits (`…_cost`) are never told by this service. */
export class RequestUsage {
  @NumberField(OPTIONAL) inference_cost?: number;
  @NumberField(OPTIONAL) compute_cost?: number;
  @NumberField(OPTIONAL) platform_cost?: number;
  @NumberField({ ...OPTIONAL, description: 'US dollars, over all turns.' }) inference_cost_usd?: number;
  @NumberField(OPTIONAL) compute_cost_usd?: number;
  @NumberField(OPTIONAL) platform_cost_usd?: number;
  @IntegerField({ ...OPTIONAL, description: 'Over all turns.' }) total_tokens?: number;
}

export class RunItem {
  @StringField() run_id: string;
  @StringField({ deprecated: true }) task_id: string;
  @StringField() title: string;
  @EnumField(RUN_STATES, { name: 'RunState' }) state: RunState;
  @StringField({ description: 'In lists the first 2,048 characters.' }) prompt: string;
  @DateTimeField() created_at: string;
  @DateTimeField() updated_at: string;
  @DateTimeField({ ...OPTIONAL, nullable: true }) started_at?: string | null;
  @StringField({ ...OPTIONAL, description: 'ISO 8601 duration that executions worked.', example: 'PT2M30S' })
  run_time?: string;
  @ObjectField(() => RunStatusMessage, OPTIONAL) status_message?: RunStatusMessage;
  @EnumField(RUN_SOURCE_TYPES, { ...OPTIONAL, name: 'RunSourceType' }) source?: RunSourceType;
  @EnumField(EXECUTION_LOCATIONS, { ...OPTIONAL, name: 'RunExecutionLocation' })
  execution_location?: RunExecutionLocation;
  @StringField(OPTIONAL) session_id?: string;
  @StringField({ ...OPTIONAL, description: 'A page that shows the run live; it asks for a token.' })
  session_link?: string;
  @StringField({ ...OPTIONAL, description: 'Where to read what triggered the run.' }) trigger_url?: string;
  @ObjectField(() => PrincipalInfo, OPTIONAL) creator?: PrincipalInfo;
  @ObjectField(() => PrincipalInfo, OPTIONAL) executor?: PrincipalInfo;
  @ObjectField(() => AmbientAgentConfig, OPTIONAL) agent_config?: AmbientAgentConfig;
  @StringField(OPTIONAL) conversation_id?: string;
  @StringField(OPTIONAL) parent_run_id?: string;
  @ObjectField(() => RunScheduleInfo, {
    ...OPTIONAL,
    description: 'The schedule that created the run, as it was then.',
  })
  schedule?: RunScheduleInfo;
  @MapField(text(), OPTIONAL) metadata?: Record<string, string>;
  @BooleanField(OPTIONAL) is_sandbox_running?: boolean;
  @BooleanField(OPTIONAL) is_run_type_cancellable?: boolean;
  @BooleanField({ ...OPTIONAL, description: 'A follow-up now goes to a debug agent.' }) debug_agent_available?: boolean;
  @JsonField({
    ...OPTIONAL,
    schema: { type: 'array', items: RUN_ARTIFACT_SCHEMA } as never,
    description: 'Oldest first. A run by itself has all of them, in lists it has the newest 20.',
  })
  artifacts?: RunArtifact[];
  @ObjectField(() => AgentSkillInfo, {
    ...OPTIONAL,
    description: 'The skill of the run, as it was when it was created.',
  })
  agent_skill?: AgentSkillInfo;
  @ObjectField(() => RequestUsage, OPTIONAL) request_usage?: RequestUsage;
  @ObjectField(() => RunScopeInfo, OPTIONAL) scope?: RunScopeInfo;
}

export class ListRunsResponse {
  @ArrayField(object(() => RunItem)) runs: RunItem[];
  @ObjectField(() => PageInfo) page_info: PageInfo;
}

export class RunTimelineEvent {
  @StringField() event_uuid: string;
  @StringField() run_id: string;
  @IntegerField(OPTIONAL) execution_id?: number;
  @EnumField(LIFECYCLE_KINDS, { name: 'TimelineEventType' }) event_type: LifecycleKind;
  @DateTimeField() occurred_at: string;
  @JsonField({ ...OPTIONAL, schema: { type: 'object', additionalProperties: true } }) payload?: object;
}

export class GetRunTimelineResponse {
  @ArrayField(object(() => RunTimelineEvent), { description: 'Oldest first.' }) events: RunTimelineEvent[];
  @ObjectField(() => PageInfo, OPTIONAL) page_info?: PageInfo;
}

export class RunFollowupResponse {
  @StringField({ nullable: true }) followup_id: string | null;
  @EnumField(['queued_prompt', 'live_session', 'handoff_execution', 'queue_pending'], { name: 'FollowupOutcome' })
  outcome: string;
}

export class ApprovalOption {
  @StringField() option_id: string;
  @StringField() name: string;
  @StringField() kind: string;
}

export class ApprovalSubject {
  @EnumField(PERMISSION_SUBJECTS, { name: 'ApprovalSubjectType' }) type: PermissionSubject['type'];
  @StringField({
    description: 'The command line, the origin of the address, the tool, its kind, or the title of the request.',
  })
  value: string;
  @StringField({ ...OPTIONAL, description: 'The tool, with a command or an address.' }) tool?: string;
}

export class ApprovalItem {
  @StringField() approval_id: string;
  @StringField() run_id: string;
  @StringField({ ...OPTIONAL, description: 'In lists over all runs.' }) run_title?: string;
  @StringField(OPTIONAL) tool_call_id?: string;
  @StringField() title: string;
  @JsonField({ ...OPTIONAL, description: 'What the agent wants to do, as it says.' }) input?: unknown;
  @ArrayField(object(() => ApprovalOption)) options: ApprovalOption[];
  @ObjectField(() => ApprovalSubject, {
    ...OPTIONAL,
    description: 'What it is about: requests with the same subject are of the same kind.',
  })
  subject?: ApprovalSubject;
  @EnumField(APPROVAL_STATES, { name: 'ApprovalState' }) state: ApprovalState;
  @BooleanField({ ...OPTIONAL, description: 'true: allowed for the rest of the run, a rule.' }) always?: boolean;
  @StringField({ ...OPTIONAL, description: 'With decided_via rule: the approval that is the rule.' }) rule_id?: string;
  @EnumField(DECISION_MAKERS, {
    ...OPTIONAL,
    description: 'Who decided. `rule`: an earlier `allow_always`. `cancel`: the turn ended before anybody did.',
  })
  decided_via?: string;
  @ObjectField(() => PrincipalInfo, OPTIONAL) decided_by?: PrincipalInfo;
  @StringField(OPTIONAL) note?: string;
  @DateTimeField() requested_at: string;
  @DateTimeField({ description: 'Denied when nobody answered by then.' }) expires_at: string;
  @DateTimeField(OPTIONAL) decided_at?: string;
}

export class ListApprovalsResponse {
  @ArrayField(object(() => ApprovalItem)) approvals: ApprovalItem[];
  @ArrayField(object(() => ApprovalItem), {
    description:
      'Those that were allowed for the rest of the run, oldest first: what has the same subject is asked no more.',
  })
  rules: ApprovalItem[];
}

export class ApprovalInboxResponse {
  @ArrayField(object(() => ApprovalItem), { description: 'Newest first.' }) approvals: ApprovalItem[];
  @ObjectField(() => PageInfo) page_info: PageInfo;
}
