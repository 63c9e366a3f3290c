import { LeaseParameters } from '#execution/executions';
import {
  MAX_AWAITED_RUNS,
  RUN_WAIT_MODES,
  type StartRunRequest,
  type WaitForRunsRequest,
} from '#execution/runner-protocol';
import { ArrayField, BooleanField, EnumField, IntegerField, StringField, text } from '#platform/http';

const OPTIONAL = { optional: true } as const;
const KEY = { pattern: /^[\x21-\x7e]{1,64}$/, says: '1 to 64 printable ASCII characters without spaces' } as const;

export class StartRunBody extends LeaseParameters implements StartRunRequest {
  @StringField(KEY) key: string;
  @StringField({ blank: false }) prompt: string;
  @StringField({ ...OPTIONAL, blank: false, max: 512 }) title?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64 }) agent_identity_uid?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64 }) environment_id?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 256 }) model_id?: string;
  @StringField({ ...OPTIONAL, blank: false, max: 64 }) harness?: string;
}

export class WaitForRunsBody extends LeaseParameters implements WaitForRunsRequest {
  @ArrayField(text({ max: 64 }), { maxItems: MAX_AWAITED_RUNS }) run_ids: string[];
  @BooleanField(OPTIONAL) active?: boolean;
  @EnumField(RUN_WAIT_MODES) mode: WaitForRunsRequest['mode'];
  @IntegerField({ min: 0, max: 25 }) wait: number;
}
