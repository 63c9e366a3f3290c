import { EnvironmentConfigDto } from '#domain/environments';
import {
  ArrayField,
  BooleanField,
  DateTimeField,
  EnumField,
  IntegerField,
  JsonField,
  MapField,
  object,
  ObjectField,
  StringField,
  text,
} from '#platform/http';
import { AmbientAgentConfig, PrincipalInfo, RUN_MODES, type RunMode, RunScopeInfo } from '#domain/runs';
import { MAX_JITTER_SECONDS, MAX_SCHEDULE_NAME, OVERLAP_POLICIES, type OverlapPolicy } from '../domain/schedule.js';

const OPTIONAL = { optional: true } as const;
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' } as const;
const MODE = { ...OPTIONAL, name: 'RunMode', description: 'Mode of its runs. Default: normal.' };
const OVERLAP = {
  ...OPTIONAL,
  name: 'ScheduleOverlapPolicy',
  description:
    'What happens at a due time while the previous run is not finished: `allow` starts another run, `skip` starts none. Default: allow.',
};
const IGNORED = {
  ...OPTIONAL,
  nullable: true,
  description: 'Ignored, so that the response of a GET can be sent back.',
} as const;

const IGNORED_OBJECT = { ...IGNORED, schema: { type: 'object' as const, additionalProperties: true } };

class ScheduleRequest {
  @StringField({
    blank: false,
    max: MAX_SCHEDULE_NAME,
    description: 'Name of the schedule, and title of its runs.',
    example: 'nightly',
  })
  name: string;
  @StringField({
    description:
      'Cron expression with five fields: minute, hour, day of the month, month, weekday. Numbers, names such as `MON` and `jan`, lists, ranges and steps.',
    example: '*/15 9-17 * * MON-FRI',
  })
  cron_schedule: string;
  @StringField({ blank: false, description: 'Task of the agent; at most 1 MiB of UTF-8.' }) prompt: string;
  @BooleanField({ description: 'false: the schedule is paused.' }) enabled: boolean;
  @ObjectField(() => AmbientAgentConfig, {
    ...OPTIONAL,
    nullable: true,
    description: 'Configuration of its runs; at most 64 KiB of JSON.',
  })
  agent_config?: AmbientAgentConfig | null;
  @StringField({
    ...OPTIONAL,
    nullable: true,
    blank: false,
    max: 64,
    description: 'Agent identity that executes its runs; schedules of a team only.',
  })
  agent_uid?: string | null;
  @EnumField(RUN_MODES, MODE) mode?: RunMode;
  @MapField(text({ maxBytes: 256 }), {
    ...OPTIONAL,
    maxEntries: 20,
    keyPattern: /^[A-Za-z0-9._-]{1,64}$/,
    keySays: '1 to 64 of A-Z a-z 0-9 . _ -',
    description: 'Labels of its runs.',
  })
  metadata?: Record<string, string>;
  @StringField({
    ...OPTIONAL,
    blank: false,
    max: 64,
    description: 'IANA name of the time zone of `cron_schedule`. Default: UTC.',
    example: 'Europe/Berlin',
  })
  timezone?: string;
  @EnumField(OVERLAP_POLICIES, OVERLAP) overlap_policy?: OverlapPolicy;
  @IntegerField({
    ...OPTIONAL,
    min: 0,
    max: MAX_JITTER_SECONDS,
    description:
      'Each run starts up to this many seconds after its due time, so that runs of several schedules are spread. Default: 0.',
  })
  jitter_seconds?: number;
}

export class CreateScheduledAgentRequest extends ScheduleRequest {
  @BooleanField({
    ...OPTIONAL,
    description: 'Whether the team owns it and its runs. Default: true for a caller on one team.',
  })
  team?: boolean;
}

export class UpdateScheduledAgentRequest extends ScheduleRequest {
  @StringField(IGNORED) id?: string | null;
  @StringField(IGNORED) created_at?: string | null;
  @StringField(IGNORED) updated_at?: string | null;
  @JsonField(IGNORED_OBJECT) created_by?: object | null;
  @JsonField(IGNORED_OBJECT) updated_by?: object | null;
  @JsonField(IGNORED_OBJECT) environment?: object | null;
  @JsonField(IGNORED_OBJECT) history?: object | null;
  @StringField(IGNORED) last_spawn_error?: string | null;
  @JsonField(IGNORED_OBJECT) scope?: object | null;
  @StringField(IGNORED) paused_reason?: string | null;
}

export class ScheduledAgentHistory {
  @DateTimeField({ nullable: true, description: 'When a run of the schedule succeeded last; null when none did.' })
  last_ran: string | null;
  @DateTimeField({ nullable: true, description: 'The next due time, without jitter; null while it is paused.' })
  next_run: string | null;
  @ArrayField(text(), {
    ...OPTIONAL,
    description: 'The next five due times, `next_run` first; empty while it is paused.',
  })
  upcoming?: string[];
}

export class ScheduledAgentItem {
  @StringField({ ...UID, description: 'ID of the schedule.' }) id: string;
  @StringField({ description: 'Name of the schedule.' }) name: string;
  @StringField({ description: 'Cron expression with five fields.' }) cron_schedule: string;
  @StringField({ description: 'IANA name of the time zone.' }) timezone: string;
  @StringField({ description: 'Task of the agent; in lists the first 2,048 characters.' }) prompt: string;
  @BooleanField({ description: 'false: the schedule is paused.' }) enabled: boolean;
  @StringField({
    nullable: true,
    description: 'Why the service has paused the schedule automatically; null when it has not.',
  })
  paused_reason: string | null;
  @EnumField(RUN_MODES, { name: 'RunMode', description: 'Mode in which the agent starts.' }) mode: RunMode;
  @EnumField(OVERLAP_POLICIES, {
    name: 'ScheduleOverlapPolicy',
    description: 'What happens when a run is due while the previous one is not finished.',
  })
  overlap_policy: OverlapPolicy;
  @IntegerField({ description: 'Runs start up to this many seconds later than the cron expression says.' })
  jitter_seconds: number;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @DateTimeField({ description: 'Time of the last change.' }) updated_at: string;
  @ObjectField(() => PrincipalInfo, { ...OPTIONAL, description: 'Principal that created the schedule.' })
  created_by?: PrincipalInfo;
  @ObjectField(() => PrincipalInfo, {
    ...OPTIONAL,
    description: 'Principal that saved the schedule last: the creator of its runs.',
  })
  updated_by?: PrincipalInfo;
  @ObjectField(() => AmbientAgentConfig, { ...OPTIONAL, description: 'Values of `env` and `headers` are masked.' })
  agent_config?: AmbientAgentConfig;
  @StringField({ ...OPTIONAL, description: 'UID of the agent identity that executes the runs.' }) agent_uid?: string;
  @MapField(text(), { ...OPTIONAL, description: 'Metadata of the runs that the schedule creates.' }) metadata?: Record<
    string,
    string
  >;
  @ObjectField(() => EnvironmentConfigDto, {
    ...OPTIONAL,
    description: 'Environment of its runs, from `agent_config` or the agent identity, if the caller may use it.',
  })
  environment?: EnvironmentConfigDto;
  @ObjectField(() => ScheduledAgentHistory, { description: 'Last and next times.' }) history: ScheduledAgentHistory;
  @StringField({
    nullable: true,
    description: 'Why the last due time started no run; null when it did.',
  })
  last_spawn_error: string | null;
  @ObjectField(() => RunScopeInfo, { description: 'Owner of the schedule and its runs.' }) scope: RunScopeInfo;
}

export class ListScheduledAgentsResponse {
  @ArrayField(object(() => ScheduledAgentItem), { description: 'Schedules, alphabetically by name.' })
  schedules: ScheduledAgentItem[];
}

export class DeleteScheduledAgentResponse {
  @BooleanField({ description: 'Whether the schedule was deleted.' }) success: boolean;
}
