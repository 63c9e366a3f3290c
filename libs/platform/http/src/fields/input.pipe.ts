import {
  type ArgumentMetadata,
  type CanActivate,
  type ExecutionContext,
  Injectable,
  type PipeTransform,
} from '@nestjs/common';
import type { Request } from 'express';
import { isStorableText, type Issue, issueSentence, isUid, isUuid, pointerOf } from '#platform/kernel';
import { requestStateOf } from '../edge/request-state.js';
import { ProblemError } from '../problems/problem-error.js';
import { below, fieldsOf, isPlainObject, type Source, wrong } from './field.js';
import { checkDto, type DtoClass, type InputIssue, isOptionalBody, readDto, unknownField } from './read-dto.js';

const NO_DTO: ReadonlySet<unknown> = new Set([undefined, Object, String, Number, Boolean, Array]);
const MAX_REPORTED = 100;

/** Parses bodies and query strings to instances of their DTO classes, or throws a 400 that names every invalid field. */
@Injectable()
export class InputPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type !== 'body' && type !== 'query') return value;
    rejectIssues(type, findUnstorable(value));
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
    rejectIssues(type, checkDto(instance));
    return instance;
  }
}

/** Also on operations without parameters: a filter sent to the wrong operation must not be ignored. */
@Injectable()
export class QueryGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const { route } = requestStateOf(request);
    if (route?.operation === undefined || !request.originalUrl.includes('?')) return true;
    const known = route.query === undefined ? [] : [...fieldsOf(route.query).keys()];
    const unknown = Object.keys(request.query).filter((name) => !known.includes(name));
    rejectIssues(
      'query',
      unknown.map((name) => unknownField(name, known)),
    );
    return true;
  }
}

/** Throws a 400 with all issues, if there are any. */
function rejectIssues(source: Source, issues: readonly InputIssue[]): void {
  if (issues.length === 0) return;
  const reported = issues
    .slice(0, MAX_REPORTED)
    .map(({ pointer, detail, hint }) => ({ pointer, detail: detail + (hint?.() ?? '') }));
  const place = source === 'query' ? 'Query parameter ' : '';
  const sentences = reported.slice(0, 5).map((issue) => (issue.pointer === '' ? '' : place) + issueSentence(issue));
  if (issues.length > 5) sentences.push(`${issues.length - 5} more.`);
  throw new ProblemError('invalid_request', sentences.join(' '), { errors: reported });
}

const NOT_STORABLE = 'must not contain NUL characters or lone surrogates';

/**
 * Finds strings and keys that PostgreSQL cannot store unchanged, and keys with a meaning in JavaScript. The parser limits
 * the nesting, so the recursion is bounded.
 */
export function findUnstorable(value: unknown): Issue[] {
  if (typeof value === 'string') return isStorableText(value) ? [] : wrong(NOT_STORABLE);
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item, index) => below(index, findUnstorable(item)));
  return Object.entries(value).flatMap(([key, item]) => {
    if (!isStorableText(key)) return wrong('has a key with a NUL character or a lone surrogate');
    if (key === '__proto__') return wrong('is not a known field', pointerOf(key));
    return below(key, findUnstorable(item));
  });
}

/**
 * An id in the path: `@Param('runId', pathId('uuid')) runId: string`. A blank id is a 400; a value that cannot be an id is
 * a 404 without a query of the database. UUIDs are converted to lower case.
 */
export function pathId(shape: 'uuid' | 'uid' | RegExp): PipeTransform<string, string> {
  const fits = shape === 'uuid' ? isUuid : shape === 'uid' ? isUid : (value: string) => shape.test(value);
  return {
    transform(value, { data }) {
      if (value.trim() === '')
        throw new ProblemError('invalid_request', `The path parameter \`${data ?? 'id'}\` must not be blank.`);
      if (!fits(value))
        throw new ProblemError('resource_not_found', `No resource with this \`${data ?? 'id'}\` was found.`);
      return shape === 'uuid' ? value.toLowerCase() : value;
    },
  };
}
