const MAX_LENGTH = 1000;

/** A path of the console with a query, such as `runs?state=failed`. Anything else, such as another host, becomes `runs`. */
export const returnPath = (given: unknown): string =>
  typeof given === 'string' &&
  given.length <= MAX_LENGTH &&
  /^[a-z0-9-]+(?:\/[\w.~-]+)*(?:\?[\w.~%!$&'()*+,;=:@/?-]*)?$/i.test(given) &&
  !/(?:^|\/)\.{1,2}(?:[/?]|$)/.test(given)
    ? given
    : 'runs';
