import { ArrayField, BooleanField, EnumField, field, JsonField, object, StringField } from '#platform/http';
import { type AutomationTrigger, oneTrigger } from './automation.dto.js';

/** Bytes of JSON, as of a delivery. */
export const MAX_PAYLOAD_BYTES = 262_144;

const ANY_JSON = {
  oneOf: [
    // Beside `oneOf`, where there is no type, OpenAPI 3.0 does not allow `nullable`.
    { type: 'object' as const, additionalProperties: true, nullable: true },
    { type: 'array' as const, items: {} },
    { type: 'string' as const },
    { type: 'number' as const },
    { type: 'boolean' as const },
  ],
};

/** Exactly one of the two. */
export class TestAutomationTriggerRequest {
  @StringField({ optional: true, max: 64, description: 'A delivery of the factory that was accepted.' })
  delivery_id?: string;
  @JsonField({
    optional: true,
    schema: ANY_JSON,
    description: 'Any JSON value, null too, of 256 KiB at most, in place of a delivery.',
  })
  payload?: unknown;
}

export class TestUnsavedTriggerRequest extends TestAutomationTriggerRequest {
  @field(oneTrigger, { description: 'As in an automation.' }) trigger: AutomationTrigger;
}

export class TriggerCheckItem {
  @StringField({ description: '`enabled`, `webhook`, `payload`; kinds of triggers may have others.' }) check: string;
  @BooleanField({ description: 'Whether the check passed.' }) passed: boolean;
  @StringField({ description: 'The clause and the value that decided it.' }) reason: string;
}

export const VERDICTS = ['Would trigger', 'Would not trigger'] as const;

export class TestTriggerResponse {
  @BooleanField({ description: 'Whether the trigger would start a run.' }) would_trigger: boolean;
  @EnumField(VERDICTS, { name: 'TriggerVerdict', description: 'The same in words.' })
  verdict: (typeof VERDICTS)[number];
  @ArrayField(object(() => TriggerCheckItem), {
    description: 'All checks, in the order in which they are made.',
  })
  checks: TriggerCheckItem[];
}
