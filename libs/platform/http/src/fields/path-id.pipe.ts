import type { PipeTransform } from '@nestjs/common';
import { isUid, isUuid } from '#platform/kernel';
import { ProblemError } from '../problems/problem-error.js';

/**
 * An id in the path: `@Param('runId', pathId('uuid')) runId: string`. Blank is a 400; what cannot be an id at all is
 * unknown, a 404 without asking the database. UUIDs come out in lower case.
 */
export function pathId(shape: 'uuid' | 'uid' | RegExp): PipeTransform<string, string> {
  const fits = shape === 'uuid' ? isUuid : shape === 'uid' ? isUid : (value: string) => shape.test(value);
  return {
    transform(value, { data }) {
      if (value.trim() === '')
        throw new ProblemError('invalid_request', `The path parameter \`${data ?? 'id'}\` must not be blank.`);
      if (!fits(value)) throw new ProblemError('resource_not_found', `There is nothing with this \`${data ?? 'id'}\`.`);
      return shape === 'uuid' ? value.toLowerCase() : value;
    },
  };
}
