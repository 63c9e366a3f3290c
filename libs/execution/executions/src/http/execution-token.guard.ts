import { type CanActivate, type ExecutionContext, Injectable } from '@nestjs/common';
import type { Request } from 'express';
import { Settings } from '#platform/config';
import { ProblemError } from '#platform/http';
import { ExecutionTokens } from '../domain/execution-token.js';

/** The runner protocol's own guard: a token that is good for exactly the execution in the path. */
@Injectable()
export class ExecutionTokenGuard implements CanActivate {
  private readonly tokens: ExecutionTokens;

  constructor(settings: Settings) {
    this.tokens = new ExecutionTokens(settings.secretsKey ?? '', settings.secretsKeyPrevious);
  }

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<Request>();
    const token = /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
    const executionId = this.tokens.verify(token);
    if (executionId === null || executionId !== request.params.executionId) {
      throw new ProblemError(
        'authentication_required',
        'The execution token is missing or not valid for this execution.',
        {
          headers: { 'WWW-Authenticate': 'Bearer' },
        },
      );
    }
    return true;
  }
}
