import { Controller, Get, Header, Param, Redirect, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { ERROR_CODES, type ErrorCode, isErrorCode } from '#platform/kernel';
import { OutsideApi, Public } from '../edge/route-options.js';
import { StaticApp } from '../edge/static-app.js';
import { ProblemError } from '../problems/problem-error.js';

/** Redirects a browser that opens the origin to the console. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller()
export class HomeController {
  @Get()
  // Relative: a proxy may serve it below a prefix.
  @Redirect('./console/', 302)
  home(): void {
    return undefined;
  }
}

/** The web application `apps/console`. It holds no data: it is a client of the API. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('console')
export class ConsoleController {
  private readonly app = new StaticApp('/console', 'dist/console');

  @Get(['', '*path'])
  show(@Req() request: Request, @Res() response: Response): Promise<void> {
    return this.app.send(request, response);
  }
}

/** The pages that the `type` of problem documents names. */
@Public()
@OutsideApi()
@ApiExcludeController()
@Controller('problems')
export class ProblemPagesController {
  @Get()
  @Header('Content-Type', 'text/html; charset=utf-8')
  list(): string {
    const rows = (Object.keys(ERROR_CODES) as ErrorCode[]).map(
      (code) =>
        `<tr><td><a href="problems/${code}"><code>${code}</code></a></td><td>${ERROR_CODES[code].status ?? 'on a run'}</td><td>${ERROR_CODES[code].title}</td></tr>`,
    );
    return htmlPage(
      'Error codes',
      `<table><tr><th>error_code</th><th>status</th><th>title</th></tr>${rows.join('')}</table>`,
    );
  }

  @Get(':code')
  @Header('Content-Type', 'text/html; charset=utf-8')
  one(@Param('code') code: string): string {
    if (!isErrorCode(code)) throw new ProblemError('resource_not_found', 'Error code not found.');
    const { status, title, retryable, explanation } = ERROR_CODES[code];
    const rows = [
      ['error_code', `<code>${code}</code>`],
      ['HTTP status', status === null ? 'none: it appears on a run, in <code>status_message</code>' : String(status)],
      ['retryable', retryable ? 'yes: the same request may succeed later' : 'no'],
    ];
    const table = rows.map(([name, value]) => `<tr><th>${name}</th><td>${value}</td></tr>`).join('');
    const text = explanation.replaceAll('<', '&lt;').replace(/`([^`]+)`/g, '<code>$1</code>');
    return htmlPage(title, `<p>${text}</p><table>${table}</table><p><a href="../problems">All error codes</a></p>`);
  }
}

function htmlPage(title: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title} · Headrace</title>
<style>body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:3rem auto;padding:0 1rem;color:#1b1f24;background:#fff}
table{border-collapse:collapse}th,td{text-align:left;padding:.3rem .8rem;border-bottom:1px solid #d0d7de}code{background:#f2f4f6;padding:.1em .3em;border-radius:3px}</style></head>
<body><h1>${title}</h1>${body}</body>
</html>
`;
}
