import {
  boolean,
  groupRoles,
  openIdIssuer,
  optionalSecret,
  optionalText,
  settingGroup,
  text,
} from '../setting-kinds.js';

export const SIGN_IN_SETTINGS = {
  ...settingGroup('Sign-in by OpenID Connect', ['API'], {
    oidcIssuer: openIdIssuer().describe(
      'URL of the OpenID provider, exactly as it names itself; with OIDC_CLIENT_ID. Register the redirect URI PUBLIC_URL/api/v1/sign-in/openid/callback there. See docs/operations/sign-in.md.',
    ),
    oidcClientId: optionalText().describe('Client id of Headrace at the provider.'),
    oidcClientSecret: optionalSecret().describe('Client secret. Default: Headrace is a public client.'),
    oidcScopes: text('openid email profile').describe(
      'Scopes that are requested, separated by spaces; openid is always requested.',
    ),
    oidcName: text('OpenID Connect').describe('Name of the provider on the button of the sign-in page.'),
    oidcGroupsClaim: text('groups').describe('Name of the claim with the groups of a user.'),
    oidcGroupRoles: groupRoles().describe(
      'Roles on teams for members of groups, set again at every sign-in. A role that was given by hand is not changed.',
    ),
    oidcCreateUsers: boolean(false).describe(
      'Creates users at their first sign-in. Otherwise administrators create them.',
    ),
    oidcLinkUsers: boolean(true).describe(
      'Lets an existing user sign in when the provider has verified the same e-mail address and the user has no other account of the provider.',
    ),
    oidcTrustEmail: boolean(false).describe(
      'Treats e-mail addresses as verified although the provider does not say so. Only for providers whose users cannot choose their address.',
    ),
  }),
} as const;
