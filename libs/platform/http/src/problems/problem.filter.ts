import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Request, Response } from 'express';
import { ProblemWriter } from './problem-writer.js';

/** The one filter: every error of the API leaves as a problem document. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(private readonly writer: ProblemWriter) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    this.writer.write(http.getRequest<Request>(), http.getResponse<Response>(), error);
  }
}
