import { Body, Controller, Get, HttpCode, Param, Post, Query, Res, UseGuards, UseInterceptors } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Response } from 'express';
import { ExecutionTokenGuard, leaseLost, LeaseParameters, SanitizeBody } from '#execution/executions';
import type { CommentAnswer, CommentRequest, CommentTargetAnswer } from '#execution/runner-protocol';
import { BodyLimit, IntegerField, RunnerProtocol, Shutdown, StringField } from '#platform/http';
import { RunComments } from '../application/run-comments.js';
import { MAX_COMMENT_TEXT } from '../domain/answer.js';

class CommentBody extends LeaseParameters implements CommentRequest {
  @StringField({ pattern: /^[\x21-\x7e]{1,64}$/, says: '1 to 64 printable ASCII characters without spaces' })
  key: string;
  @StringField({ blank: false, max: MAX_COMMENT_TEXT }) text: string;
  @IntegerField({ min: 0, max: 25 }) wait: number;
}

/** Part of the runner protocol: comments that the agent of a run asks for. See docs/runner-protocol.md. */
@ApiExcludeController()
@Controller('runner/v1/executions/:executionId/comments')
@UseGuards(ExecutionTokenGuard)
export class RunnerCommentsController {
  constructor(
    private readonly comments: RunComments,
    private readonly shutdown: Shutdown,
  ) {}

  @Get()
  @RunnerProtocol()
  async target(
    @Param('executionId') executionId: string,
    @Query() { lease_epoch: leaseEpoch }: LeaseParameters,
  ): Promise<CommentTargetAnswer> {
    const answer = await this.comments.target(executionId, leaseEpoch);
    if (answer === 'lease_lost') throw leaseLost();
    return answer;
  }

  @Post()
  @HttpCode(200)
  @RunnerProtocol()
  // Of JSON, in which a character of the text has at most six bytes.
  @BodyLimit(6 * MAX_COMMENT_TEXT + 4_096)
  @UseInterceptors(SanitizeBody)
  async add(
    @Param('executionId') executionId: string,
    @Body() { lease_epoch: leaseEpoch, ...request }: CommentBody,
    @Res({ passthrough: true }) response: Response,
  ): Promise<CommentAnswer> {
    const abort = new AbortController();
    const forget = this.shutdown.onShutdown(() => abort.abort());
    response.once('close', () => abort.abort());
    try {
      const answer = await this.comments.request(executionId, leaseEpoch, request, abort.signal);
      if (answer === 'lease_lost') throw leaseLost();
      return answer;
    } finally {
      forget();
    }
  }
}
