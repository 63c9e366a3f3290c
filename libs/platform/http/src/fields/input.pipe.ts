import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { type Issue, issueSentence } from '#platform/kernel';
import { ProblemError } from '../problems/problem-error.js';
import { fieldsOf } from './field.js';
import { isPlainObject, type Source } from './kind.js';
import { isOptionalBody } from './optional-body.js';
import { checkDto, type DtoClass, readDto } from './read-dto.js';
import { findUnstorable } from './unstorable.js';

const NO_DTO: ReadonlySet<unknown> = new Set([undefined, Object, String, Number, Boolean, Array]);
const MAX_REPORTED = 100;

/** Turns bodies and query strings into instances of their DTO classes, or into a 400 that names every failing field. */
@Injectable()
export class InputPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' && type !== 'query') return value;
    refuse(type, findUnstorable(value));
    if (NO_DTO.has(metatype) || fieldsOf(metatype as DtoClass).size === 0) return value;
    if (value === undefined && isOptionalBody(metatype as DtoClass)) return this.transform({}, { type, metatype });
    if (!isPlainObject(value)) {
      throw new ProblemError(
        'invalid_request',
        value === undefined ? 'A JSON body is required.' : 'The body must be a JSON object.',
        {
          errors: [{ pointer: '', detail: value === undefined ? 'is required' : 'must be an object' }],
        },
      );
    }
    const instance = readDto(metatype as DtoClass, value, type);
    refuse(type, checkDto(instance));
    return instance;
  }
}

/** Throws a 400 that names every one of `issues`, if there are any. */
export function refuse(source: Source, issues: readonly Issue[]): void {
  if (issues.length === 0) return;
  const reported = issues.slice(0, MAX_REPORTED);
  const place = source === 'query' ? 'Query parameter ' : '';
  const sentences = reported.slice(0, 5).map((issue) => (issue.pointer === '' ? '' : place) + issueSentence(issue));
  if (issues.length > 5) sentences.push(`${issues.length - 5} more.`);
  throw new ProblemError('invalid_request', sentences.join(' '), { errors: reported });
}
