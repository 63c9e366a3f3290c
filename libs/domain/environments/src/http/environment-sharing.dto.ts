import { ArrayField, DateTimeField, EnumField, IntegerField, object, ObjectField, StringField } from '#platform/http';
import { EnvironmentPrincipal } from './environment.dto.js';

const ACCESS = 'read it, with values of `env` masked, and use it in runs';
const UID = { pattern: /^[A-Za-z0-9]{22}$/, says: 'exactly 22 letters or digits' };

export class GrantEnvironmentRequest {
  @StringField({
    ...UID,
    optional: true,
    description: 'UID of the user. Exactly one of the three fields names the grantee.',
  })
  user_uid?: string;

  @StringField({
    blank: false,
    max: 320,
    optional: true,
    description: 'E-mail address of the user. It must be verified, or the user a member of a team of the caller.',
  })
  user_email?: string;

  @StringField({
    ...UID,
    optional: true,
    description: 'UID of the team: a grant to all its members and service accounts.',
  })
  team_uid?: string;

  @EnumField(['use'], { optional: true, default: 'use', description: `\`use\`: ${ACCESS}.` })
  access?: 'use';
}

export class EnvironmentGrantItem {
  @StringField({ example: '3hV0cYq4sJr8mZ1tKfWb2N', description: 'UID of the grant.' }) uid: string;
  @EnumField(['use'], { description: `\`use\`: ${ACCESS}.` }) access: 'use';
  @ObjectField(() => EnvironmentPrincipal, { optional: true, description: 'The user that it is granted to.' })
  user?: EnvironmentPrincipal;

  @StringField({ optional: true, description: 'UID of the team that it is granted to.' }) team_uid?: string;
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
      'Time after which the link cannot be redeemed; users who have redeemed it keep the access. Default: none.',
  })
  expires_at?: Date;

  @IntegerField({
    min: 1,
    max: 1000,
    optional: true,
    description: 'How many users can redeem the link. Default: any number.',
  })
  max_uses?: number;
}

export class EnvironmentLinkItem {
  @StringField({ example: '5qB7rXw0aPd3nT6yGhLc9E', description: 'UID of the link.' }) uid: string;
  @DateTimeField({ optional: true, description: 'Time after which the link cannot be redeemed.' }) expires_at?: string;
  @IntegerField({ optional: true, description: 'How often the link can be redeemed.' }) max_uses?: number;
  @IntegerField({ description: 'How many users have redeemed the link.' }) uses: number;
  @DateTimeField({ description: 'Time of creation.' }) created_at: string;
  @ObjectField(() => EnvironmentPrincipal, { description: 'Who created the link.' }) created_by: EnvironmentPrincipal;
}

export class CreatedEnvironmentLink extends EnvironmentLinkItem {
  @StringField({ description: 'Token that redeems the link. Returned only once.', example: 'hrl_…' }) token: string;
  @StringField({
    description:
      'URL of a page that redeems the link. The token follows the `#`, so that browsers do not send it to a server.',
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
