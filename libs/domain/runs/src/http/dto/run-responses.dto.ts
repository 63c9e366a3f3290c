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
} from '#platform/http';
import { ERROR_CODES, type ErrorCode } from '#platform/kernel';
import {
  EXECUTION_LOCATIONS,
  RUN_SOURCE_TYPES,
  type RunExecutionLocation,
  type RunSourceType,
} from '../../domain/run.js';
import {
  APPROVAL_STATES,
  type ApprovalState,
  CHANNEL_DECIDERS,
  DECISION_MAKERS,
  RUN_STATES,
  type RunState,
} from '#execution/executions';
import {
  APPROVAL_KINDS,
  type ApprovalKind,
  LIFECYCLE_KINDS,
  type LifecycleKind,
  PERMISSION_SUBJECTS,
  type PermissionSubject,
} from '#execution/runner-protocol';
import { AmbientAgentConfig } from './agent-config.dto.js';
import { RUN_ARTIFACT_SCHEMA, type RunArtifact } from './artifact.dto.js';

const OPTIONAL = { optional: true } as const;

export class CreatedRun {
  @StringField({ description: 'The new run.' }) run_id: string;
  @StringField({ deprecated: true, description: 'The same as run_id.' }) task_id: string;
  @EnumField(RUN_STATES, { name: 'RunState', description: 'State of the new run.' }) state: RunState;
}

export class RunAgentResponse extends CreatedRun {
  @BooleanField({ ...OPTIONAL, description: 'true: all slots are taken, the run waits for one.' })
  at_capacity?: boolean;
  @BooleanField({
    ...OPTIONAL,
    description: 'true: no run was created; this run got the prompt as a follow-up (`concurrency`).',
  })
  continued?: boolean;
}

export class RerunRunResponse extends RunAgentResponse {
  @StringField({ description: 'ID of the run whose input the new run has.' }) rerun_of: string;
}

export class PrincipalInfo {
  @EnumField(['user', 'service_account'], { ...OPTIONAL, description: 'Kind of principal.' }) type?:
    | 'user'
    | 'service_account';
  @StringField({ ...OPTIONAL, description: 'UID of the principal.' }) uid?: string;
  @StringField({ ...OPTIONAL, description: 'Name shown to people.' }) display_name?: string;
  @StringField({ ...OPTIONAL, description: 'E-mail address of a user.' }) email?: string;
  @StringField({ ...OPTIONAL, description: 'Address of a picture. Not set by this service.' }) photo_url?: string;
}

export class RunStatusMessage {
  @StringField({ description: 'Text for people.' }) message: string;
  @EnumField(Object.keys(ERROR_CODES), {
    ...OPTIONAL,
    name: 'ErrorCode',
    description: 'Code of the error that ended the run.',
  })
  error_code?: ErrorCode;
  @BooleanField({ ...OPTIONAL, description: 'Whether the same run may succeed when it is created again.' })
  retryable?: boolean;
  @StringField({ ...OPTIONAL, description: 'What the agent itself reported, without paths and stack traces.' })
  detail?: string;
  @DateTimeField({
    ...OPTIONAL,
    description: 'While a debug window is open: a follow-up before then reaches the session whose set-up failed.',
  })
  session_debug_until?: string;
  @BooleanField({ ...OPTIONAL, description: 'While a debug window is open: its agent works on a follow-up.' })
  debug_agent_active?: boolean;
}

export class RunScopeInfo {
  @EnumField(['User', 'Team'], { description: 'Kind of owner.' }) type: 'User' | 'Team';
  @StringField({ ...OPTIONAL, description: 'UID of the user or team that owns the run.' }) uid?: string;
}

export class AgentSkillInfo {
  @StringField({ ...OPTIONAL, description: 'Name of the skill.' }) name?: string;
  @StringField({ ...OPTIONAL, description: 'Description of the skill, from its front matter.' }) description?: string;
  @StringField({
    ...OPTIONAL,
    description: '`owner/repo:path/to/SKILL.md`.',
    example: 'acme/app:skills/review/SKILL.md',
  })
  full_path?: string;
  @StringField({ ...OPTIONAL, description: 'Id of a skill that ships with Headrace. Present in place of full_path.' })
  bundled_skill_id?: string;
}

export class RunScheduleInfo {
  @StringField({ description: 'ID of the schedule that created the run.' }) schedule_id: string;
  @StringField({ description: 'Name of the schedule when it created the run.' }) schedule_name: string;
  @StringField({ description: 'Cron expression of the schedule when it created the run.' }) cron_schedule: string;
}

/** What a run has used. Costs in credits (`…_cost`) are never set: this service counts in US dollars. */
export class RequestUsage {
  @NumberField({
    ...OPTIONAL,
    description: 'Cost of inference in credits. Never set by this service, which counts in US dollars.',
  })
  inference_cost?: number;
  @NumberField({
    ...OPTIONAL,
    description: 'Cost of computing in credits. Never set by this service, which counts in US dollars.',
  })
  compute_cost?: number;
  @NumberField({ ...OPTIONAL, description: 'Cost of the platform in credits. Never set by this service.' })
  platform_cost?: number;
  @NumberField({ ...OPTIONAL, description: 'Cost of inference in US dollars over all turns, as the agent reports it.' })
  inference_cost_usd?: number;
  @NumberField({
    ...OPTIONAL,
    description:
      'Cost of computing in US dollars: the run time of a hosted run by the setting COMPUTE_COST_PER_HOUR. Absent without that setting.',
  })
  compute_cost_usd?: number;
  @NumberField({ ...OPTIONAL, description: 'Cost of the platform in US dollars. Never set by this service.' })
  platform_cost_usd?: number;
  @IntegerField({ ...OPTIONAL, description: 'Over all turns.' }) total_tokens?: number;
}

export class RunForkInfo {
  @StringField({ description: 'ID of the run that was forked.' }) run_id: string;
  @IntegerField({ min: 0, description: 'Sequence number of the snapshot in the log of that run.' }) sequence: number;
}

export class RunItem {
  @StringField({ description: 'ID of the run.' }) run_id: string;
  @StringField({ deprecated: true, description: 'The same as `run_id`.' }) task_id: string;
  @StringField({
    description:
      'ID of the run at the top of the chain of parent runs. The same as `run_id` for a run without a parent.',
  })
  root_run_id: string;
  @StringField({ description: 'Title of the run.' }) title: string;
  @EnumField(RUN_STATES, { name: 'RunState', description: 'State of the run.' }) state: RunState;
  @StringField({ description: 'Prompt of the run; in lists its first 2,048 characters.' }) prompt: string;
  @StringField({
    ...OPTIONAL,
    description:
      'The prompt as it was submitted, without the event that an automation adds, followed by the follow-ups that were sent before the start, separated by blank lines; in lists its first 2,048 characters.',
  })
  submitted_prompt?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
  @DateTimeField({
    ...OPTIONAL,
    nullable: true,
    description: 'Time at which the agent was first started; null before that.',
  })
  started_at?: string | null;
  @DateTimeField({
    nullable: true,
    description:
      'Last time at which a terminal state was reached; null while the run is active, and for runs that ended before Headrace recorded this time.',
  })
  finished_at: string | null;
  @StringField({ ...OPTIONAL, description: 'ISO 8601 duration that executions worked.', example: 'PT2M30S' })
  run_time?: string;
  @ObjectField(() => RunStatusMessage, {
    ...OPTIONAL,
    description:
      'Reason for the current state. Of a QUEUED run that is read by itself: what it waits for, such as a limit or a worker that is not connected; lists leave that out.',
  })
  status_message?: RunStatusMessage;
  @EnumField(RUN_SOURCE_TYPES, { ...OPTIONAL, name: 'RunSourceType', description: 'What created the run.' })
  source?: RunSourceType;
  @EnumField(EXECUTION_LOCATIONS, {
    ...OPTIONAL,
    name: 'RunExecutionLocation',
    description: 'Whether the run is executed by a worker or where its creator is.',
  })
  execution_location?: RunExecutionLocation;
  @StringField({ ...OPTIONAL, description: 'ID of the agent’s latest session.' }) session_id?: string;
  @StringField({ ...OPTIONAL, description: 'Page that shows the run live. It requires a token.' })
  session_link?: string;
  @StringField({ ...OPTIONAL, description: 'Where to read what triggered the run.' }) trigger_url?: string;
  @ObjectField(() => PrincipalInfo, { ...OPTIONAL, description: 'Who created the run.' }) creator?: PrincipalInfo;
  @ObjectField(() => PrincipalInfo, { ...OPTIONAL, description: 'Who the run is executed as.' })
  executor?: PrincipalInfo;
  @ObjectField(() => AmbientAgentConfig, {
    ...OPTIONAL,
    description: 'Resolved configuration of the run. Secret values are masked.',
  })
  agent_config?: AmbientAgentConfig;
  @StringField({ ...OPTIONAL, description: 'ID of the conversation.' }) conversation_id?: string;
  @StringField({ ...OPTIONAL, description: 'ID of the run that started this one.' }) parent_run_id?: string;
  @ObjectField(() => RunForkInfo, { ...OPTIONAL, description: 'The snapshot with which the run has started.' })
  forked_from?: RunForkInfo;
  @StringField({ ...OPTIONAL, description: 'ID of the run whose input this one was created with.' }) rerun_of?: string;
  @StringField({
    ...OPTIONAL,
    description: 'UID of the factory that the run belongs to: the value of the metadata key `factory_uid`.',
  })
  factory_uid?: string;
  @ObjectField(() => RunScheduleInfo, {
    ...OPTIONAL,
    description: 'The schedule that created the run, as it was then.',
  })
  schedule?: RunScheduleInfo;
  @MapField(text(), {
    ...OPTIONAL,
    description: 'Metadata of the run: keys and values of the request that created it.',
  })
  metadata?: Record<string, string>;
  @BooleanField({ ...OPTIONAL, description: 'Whether the workspace of the run is still open.' })
  is_sandbox_running?: boolean;
  @BooleanField({ ...OPTIONAL, description: 'Whether runs of this kind can be cancelled through the API.' })
  is_run_type_cancellable?: boolean;
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
  @ObjectField(() => RequestUsage, { ...OPTIONAL, description: 'Tokens used and their cost.' })
  request_usage?: RequestUsage;
  @ObjectField(() => RunScopeInfo, { ...OPTIONAL, description: 'Owner of the run.' }) scope?: RunScopeInfo;
}

export class ListRunsResponse {
  @ArrayField(object(() => RunItem), { description: 'The runs of this page, in the requested order.' }) runs: RunItem[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}

export class RunTimelineEvent {
  @StringField({ description: 'ID of the event.' }) event_uuid: string;
  @StringField({ description: 'ID of the run.' }) run_id: string;
  @IntegerField({
    min: 1,
    description: 'Position in the log of the run. Other entries of the log are between those of the timeline.',
  })
  sequence: number;
  @IntegerField({ ...OPTIONAL, description: 'Number of the execution within the run, from 1.' }) execution_id?: number;
  @EnumField(LIFECYCLE_KINDS, { name: 'TimelineEventType', description: 'Type of the event.' })
  event_type: LifecycleKind;
  @DateTimeField({ description: 'Time of the event.' }) occurred_at: string;
  @JsonField({
    ...OPTIONAL,
    schema: { type: 'object', additionalProperties: true },
    description: 'Further facts, by type of event.',
  })
  payload?: object;
}

export class GetRunTimelineResponse {
  @ArrayField(object(() => RunTimelineEvent), { description: 'Oldest first.' }) events: RunTimelineEvent[];
  @ObjectField(() => PageInfo, { ...OPTIONAL, description: 'Whether there is another page, and its cursor.' })
  page_info?: PageInfo;
}

export class HarnessUsageResponse {
  @StringField({ description: 'ID of the run.' }) run_id: string;
  @StringField({ description: 'ID of the conversation.' }) conversation_id: string;
  @BooleanField({ description: 'Always false: Headrace keeps no usage snapshots of harnesses.' }) available: boolean;
}

export class RunFollowupResponse {
  @StringField({ nullable: true, description: 'ID of the follow-up; null when it was not queued.' }) followup_id:
    | string
    | null;
  @EnumField(['queued_prompt', 'live_session', 'handoff_execution', 'queue_pending'], {
    name: 'FollowupOutcome',
    description: 'What happened to the follow-up.',
  })
  outcome: string;
}

export class ConversationFollowupResponse extends RunFollowupResponse {
  @StringField({ description: 'ID of the run that received the follow-up.' }) run_id: string;
}

export class RegisterExternalFollowupResponse extends ConversationFollowupResponse {
  @StringField({ description: 'The execution to claim over the runner protocol.' }) execution_id: string;
  @StringField({ description: 'Valid for this execution only.' }) token: string;
}

export class ApprovalOption {
  @StringField({ description: 'ID to send with a decision.' }) option_id: string;
  @StringField({ description: 'Text of the answer, written by the agent.' }) name: string;
  @StringField({ description: 'Kind of answer, such as `allow_once` or `reject_once`.' }) kind: string;
}

export class ApprovalAnswer {
  @StringField({ ...OPTIONAL, description: 'ID of the option.' }) option_id?: string;
  @StringField({ ...OPTIONAL, description: 'Text of the option.' }) option?: string;
  @StringField({ ...OPTIONAL, description: 'Text of the answer.' }) text?: string;
}

export class ApprovalSubject {
  @EnumField(PERMISSION_SUBJECTS, {
    name: 'ApprovalSubjectType',
    description: 'Kind of action that permission is asked for.',
  })
  type: PermissionSubject['type'];
  @StringField({
    description: 'The command line, the origin of the address, the tool, its kind, or the title of the request.',
  })
  value: string;
  @StringField({ ...OPTIONAL, description: 'The tool, with a command or an address.' }) tool?: string;
  @StringField({ ...OPTIONAL, description: 'Where the command is executed.' }) directory?: string;
  @StringField({
    ...OPTIONAL,
    description:
      'SHA-256 of what the input of the command contains beside it, as far as it can change what the command does.',
  })
  input_sha256?: string;
}

const DECIDERS = ['user', 'service_account', ...CHANNEL_DECIDERS] as const;

export class ApprovalDecider {
  @EnumField(DECIDERS, {
    ...OPTIONAL,
    name: 'ApprovalDeciderType',
    description:
      '`notification_webhook`: somebody who has its messages. `chat_user`: an account of a chat service. Both decide by a signed decision in a message.',
  })
  type?: (typeof DECIDERS)[number];
  @StringField({ ...OPTIONAL, description: 'UID of the principal, the notification webhook or the account.' })
  uid?: string;
  @StringField({ ...OPTIONAL, description: 'Name shown to people; of a channel the one at the time of the decision.' })
  display_name?: string;
  @StringField({ ...OPTIONAL, description: 'E-mail address of a user.' }) email?: string;
  @StringField({ ...OPTIONAL, description: 'Address of a picture. Not set by this service.' }) photo_url?: string;
}

export class ApprovalItem {
  @StringField({ description: 'ID of the permission request.' }) approval_id: string;
  @StringField({ description: 'ID of the run.' }) run_id: string;
  @StringField({ ...OPTIONAL, description: 'Title of the run. Present in lists over all runs.' }) run_title?: string;
  @StringField({ ...OPTIONAL, description: 'ID of the tool call that waits for the decision.' }) tool_call_id?: string;
  @EnumField(APPROVAL_KINDS, {
    name: 'ApprovalKind',
    description: '`question`: the agent asks a person by the tool `ask_person` and waits for the answer.',
  })
  kind: ApprovalKind;
  @StringField({ description: 'The action for which the agent requests permission, or the text of a question.' })
  title: string;
  @JsonField({ ...OPTIONAL, description: 'The arguments of the action, as the agent reports them.' }) input?: unknown;
  @ArrayField(object(() => ApprovalOption), { description: 'The answers that the agent accepts.' })
  options: ApprovalOption[];
  @BooleanField({ ...OPTIONAL, description: 'Of a question: whether a text may be the answer.' }) allow_text?: boolean;
  @ObjectField(() => ApprovalSubject, {
    ...OPTIONAL,
    description: 'What it is about: requests with the same subject are of the same kind.',
  })
  subject?: ApprovalSubject;
  @EnumField(APPROVAL_STATES, {
    name: 'ApprovalState',
    description: 'State of the permission request, or of the question.',
  })
  state: ApprovalState;
  @ObjectField(() => ApprovalAnswer, { ...OPTIONAL, description: 'The answer to a question.' }) answer?: ApprovalAnswer;
  @BooleanField({ ...OPTIONAL, description: 'true: allowed for the rest of the run, a rule.' }) always?: boolean;
  @StringField({ ...OPTIONAL, description: 'Id of the approval that is the rule. Present when decided_via is `rule`.' })
  rule_id?: string;
  @EnumField(DECISION_MAKERS, {
    ...OPTIONAL,
    description:
      'Who decided. `rule`: an earlier `allow_always`. `cancel`: the turn ended before a decision. `channel`: a signed decision in a message.',
  })
  decided_via?: string;
  @ObjectField(() => ApprovalDecider, { ...OPTIONAL, description: 'Who decided.' }) decided_by?: ApprovalDecider;
  @StringField({ ...OPTIONAL, description: 'Reason that was sent with the decision.' }) note?: string;
  @DateTimeField({ description: 'Time of the request.' }) requested_at: string;
  @DateTimeField({ description: 'Time at which the request is denied unless it was decided before.' })
  expires_at: string;
  @DateTimeField({ ...OPTIONAL, description: 'Time of the decision.' }) decided_at?: string;
}

export class ListApprovalsResponse {
  @ArrayField(object(() => ApprovalItem), { description: 'The permission requests of the run, oldest first.' })
  approvals: ApprovalItem[];
  @ArrayField(object(() => ApprovalItem), {
    description:
      'Those that were allowed for the rest of the run, oldest first: what has the same subject is asked no more.',
  })
  rules: ApprovalItem[];
}

export class ApprovalInboxResponse {
  @ArrayField(object(() => ApprovalItem), { description: 'Newest first.' }) approvals: ApprovalItem[];
  @ObjectField(() => PageInfo, { description: 'Whether there is another page, and its cursor.' }) page_info: PageInfo;
}

export class SnapshotReference {
  @StringField({ description: 'ID of the snapshot.' }) snapshot_id: string;
  @IntegerField({ min: 0, description: 'Its sequence number in the log of the run.' }) sequence: number;
}

export class ForkRunResponse {
  @ObjectField(() => SnapshotReference, { description: 'The snapshot with which the forks start.' })
  snapshot: SnapshotReference;
  @ArrayField(object(() => RunAgentResponse), { description: 'The forks.' }) runs: RunAgentResponse[];
}
