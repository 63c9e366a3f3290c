import type { PipeTransform } from '@nestjs/common';
import { ProblemError } from '#platform/http';
import { SECRET_NAME, SECRET_NAME_RULE } from '../domain/managed-secret.js';

/** The path names what the request makes: a name that breaks the rule is bad input, not something that is not there. */
export const nameOfNewSecret: PipeTransform<string, string> = {
  transform(name) {
    if (SECRET_NAME.test(name)) return name;
    const detail = `must be ${SECRET_NAME_RULE}`;
    throw new ProblemError('invalid_request', `The path parameter \`name\` ${detail}.`, {
      errors: [{ pointer: '/name', detail }],
    });
  },
};
