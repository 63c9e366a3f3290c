import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { Settings } from '#platform/config';
import { IngressMeters } from './ingress-metrics.js';
import { IngressRefusal } from './ingress-refusal.js';
import { writeAnswer, writeProblem } from './write-answer.js';
import { writeFault } from './write-fault.js';

const NO_ROUTE = 'No route matches this path. The ingress takes deliveries at /webhooks/w/<uid>.';

/** Whatever was thrown becomes a problem document of the ingress. */
@Catch()
export class IngressFilter implements ExceptionFilter {
  private readonly logger = new Logger(IngressFilter.name);

  constructor(
    private readonly settings: Settings,
    private readonly meters: IngressMeters,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const { publicUrl } = this.settings;
    if (error instanceof IngressRefusal) {
      this.meters.answered(error.answer, performance.now());
      writeAnswer(response, publicUrl, error.answer);
    } else if (error instanceof HttpException && error.getStatus() === 404) {
      writeProblem(response, publicUrl, 'resource_not_found', `${NO_ROUTE} The API is at ${publicUrl}/api/v1.`);
    } else if (isClientError(error)) {
      writeProblem(response, publicUrl, 'invalid_request', 'The request cannot be read.');
    } else {
      this.meters.failed(writeFault(response, publicUrl, this.logger, error));
    }
  }
}

/** Express throws plain errors with a status, for instance for a path that does not decode. */
function isClientError(error: unknown): boolean {
  const status = error instanceof HttpException ? error.getStatus() : (error as { status?: unknown } | null)?.status;
  return typeof status === 'number' && status >= 400 && status < 500;
}
