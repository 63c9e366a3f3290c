const PART = String.raw`[^\s@\u0130\u03F4\u1E9E\u2126\u212A\u212B]+`;

/**
 * A plausible e-mail address. Without the letters that PostgreSQL finds equal to others, such as the Kelvin sign to `k`: an account with
 * such an address would be in the way of the owner of another one.
 */
export const EMAIL_ADDRESS = new RegExp(`^${PART}@${PART}$`);
