/** Why something of a team is not shown, changed or deleted. */
export type LookupRefusal = { readonly kind: 'unknown' } | { readonly kind: 'not_yours' };
/** `rule` completes "`url` …". */
export type BadUrl = { readonly kind: 'bad_url'; readonly rule: string };
export type Refusal =
  | LookupRefusal
  | BadUrl
  /** The caller is on several teams and picked none. */
  | { readonly kind: 'team_needed' }
  | { readonly kind: 'limit_reached'; readonly limit: number }
  | { readonly kind: 'test_pending' }
  | { readonly kind: 'bad_cursor' };
