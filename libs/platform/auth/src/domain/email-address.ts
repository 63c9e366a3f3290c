/**
 * A plausible e-mail address. Without the Kelvin sign and the capital I with a dot: PostgreSQL finds them equal to `k` and `i`, so an account
 * with such an address would be in the way of the owner of another one.
 */
export const EMAIL_ADDRESS = /^[^\s@\u212A\u0130]+@[^\s@\u212A\u0130]+$/;
