import { DateTimeField, EnumField, StringField } from '#platform/http';
import type { DeviceDecision } from '#platform/auth';

export const DEVICE_DECISIONS = ['approve', 'deny'] as const satisfies readonly DeviceDecision[];

export class DeviceAuthorizationItem {
  @StringField({
    pattern: /^[A-Za-z0-9]{22}$/,
    says: 'exactly 22 letters or digits',
    description: 'UID of the request.',
  })
  uid: string;
  @StringField({ description: 'How the program names itself. It becomes the name of the token.' }) client_name: string;
  @StringField({ description: 'IP address from which the program has asked.' }) address: string;
  @DateTimeField({ description: 'When the program has asked.' }) created_at: string;
  @DateTimeField({ description: 'Until when it can be decided.' }) expires_at: string;
}

export class DecideDeviceAuthorizationRequest {
  @EnumField(DEVICE_DECISIONS, {
    name: 'DeviceDecision',
    description: '`approve` gives the program a token of yours.',
  })
  decision: DeviceDecision;
  @DateTimeField({
    optional: true,
    description: 'When the token expires. Default: never.',
  })
  token_expires_at?: Date;
}
