import { ArrayField, DateTimeField, EnumField, IntegerField, object, ObjectField, StringField } from '#platform/http';
import { EnvironmentPrincipal } from './environment.dto.js';

const ACCESS = 'see it, with values of `env` masked, and have runs work in it';
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' };

export class GrantEnvironmentRequest {
  @StringField({ ...UID, optional: true, description: 'Of a person. Exactly one of the three names who gets it.' })
  user_uid?: string;

  @StringField({ blank: false, max: 320, optional: true, description: 'Address of a person who has an account here.' })
  user_email?: string;

  @StringField({ ...UID, optional: true, description: 'Of a team, all of whose members and service accounts get it.' })
  team_uid?: string;

  @EnumField(['use'], { optional: true, default: 'use', description: `\`use\`: ${ACCESS}.` })
  access?: 'use';
}

export class EnvironmentGrantItem {
  @StringField({ example: '3hV0cYq4sJr8mZ1tKfWb2N', description: 'UID of the grant.' }) uid: string;
  @EnumField(['use'], { description: `\`use\`: ${ACCESS}.` }) access: 'use';
  @ObjectField(() => EnvironmentPrincipal, { optional: true, description: 'The person who has it.' })
  user?: EnvironmentPrincipal;

  @StringField({ optional: true, description: 'The team that has it.' }) team_uid?: string;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => EnvironmentPrincipal, { description: 'Who created the grant.' }) created_by: EnvironmentPrincipal;
}

export class ListEnvironmentGrantsResponse {
  @ArrayField(object(() => EnvironmentGrantItem), { description: 'The grants of the environment.' })
  grants: EnvironmentGrantItem[];
}

export class CreateEnvironmentLinkRequest {
  @DateTimeField({
    optional: true,
    description:
      'Until when people may come by it. Who has come by then keeps the access. Default: until it is revoked.',
  })
  expires_at?: Date;

  @IntegerField({
    min: 1,
    max: 1000,
    optional: true,
    description: 'How many people may come by it. Default: any number.',
  })
  max_uses?: number;
}

export class EnvironmentLinkItem {
  @StringField({ example: '5qB7rXw0aPd3nT6yGhLc9E', description: 'UID of the link.' }) uid: string;
  @DateTimeField({ optional: true, description: 'Time after which the link cannot be redeemed.' }) expires_at?: string;
  @IntegerField({ optional: true, description: 'How often the link can be redeemed.' }) max_uses?: number;
  @IntegerField({ description: 'People who have come by it.' }) uses: number;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => EnvironmentPrincipal, { description: 'Who created the link.' }) created_by: EnvironmentPrincipal;
}

export class CreatedEnvironmentLink extends EnvironmentLinkItem {
  @StringField({ description: 'What a person redeems; not shown again.', example: 'hrl_…' }) token: string;
  @StringField({
    description: 'A page for people, which redeems it. The token stands behind the #, so no server is told it.',
  })
  url: string;
}

export class ListEnvironmentLinksResponse {
  @ArrayField(object(() => EnvironmentLinkItem), { description: 'The links of the environment.' })
  links: EnvironmentLinkItem[];
}

export class RedeemEnvironmentLinkRequest {
  @StringField({ blank: false, max: 200, description: 'The token of a link.' }) token: string;
}
