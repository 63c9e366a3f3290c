import { ArrayField, BooleanField, EnumField, IntegerField, json, MapField, object, StringField } from '#platform/http';
import { MAX_BATCH_EVENTS, RUNNER_KINDS, type RunnerEventKind } from '#execution/runner-protocol';

const OPTIONAL = { optional: true } as const;
const EPOCH = { min: 1, max: 2_147_483_647 } as const;

export class ClaimRequestBody {
  @IntegerField({ min: 1, max: 1000 }) protocol_version: number;
  @StringField({ blank: false, max: 128 }) instance_id: string;
}

export class RunnerEventBody {
  @IntegerField({ min: 1 }) source_seq: number;
  @EnumField(RUNNER_KINDS) kind: RunnerEventKind;
  @StringField({ ...OPTIONAL, max: 64 }) at?: string;
  @MapField(json()) data: Record<string, unknown>;
}

export class EventBatchBody {
  @IntegerField(EPOCH) lease_epoch: number;
  @ArrayField(object(() => RunnerEventBody), { maxItems: MAX_BATCH_EVENTS }) events: RunnerEventBody[];
}

export class LeaseRefBody {
  @IntegerField(EPOCH) lease_epoch: number;
}

export class FinishRequestBody {
  @IntegerField(EPOCH) lease_epoch: number;
  @EnumField(['closed', 'failed', 'cancelled', 'handed_back']) outcome:
    'closed' | 'failed' | 'cancelled' | 'handed_back';
  @StringField({ ...OPTIONAL, max: 64 }) error_code?: string;
  @StringField({ ...OPTIONAL, max: 262_144 }) message?: string;
  @BooleanField(OPTIONAL) retryable?: boolean;
  @StringField({ ...OPTIONAL, max: 262_144 }) detail?: string;
  @IntegerField({ ...OPTIONAL, min: 0, max: 255 }) exit_code?: number;
}

export class CommandsParameters {
  @IntegerField(EPOCH) lease_epoch: number;
  @IntegerField({ min: 0 }) version: number;
  @IntegerField({ ...OPTIONAL, min: 0, max: 60 }) wait?: number;
}

export class TranscriptParameters {
  @IntegerField(EPOCH) lease_epoch: number;
  @StringField({ ...OPTIONAL, max: 128 }) format?: string;
  @StringField({ ...OPTIONAL, max: 512 }) session_id?: string;
}

export class LeaseParameters {
  @IntegerField(EPOCH) lease_epoch: number;
}
