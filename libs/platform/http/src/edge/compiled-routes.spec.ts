import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import express, { type RequestHandler } from 'express';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { CompiledRoutes } from './compiled-routes.js';
import type { Route, RouteTable } from './route-table.js';

const route = (method: string, path: string): Route => ({
  method,
  path,
  outside: false,
  handler: 'Controller.method',
  access: undefined,
  operation: undefined,
  auditedAction: undefined,
  takesBody: false,
  body: {},
  query: undefined,
});
const GET_RUN = route('GET', '/runs/:runId/files/:name');
const passOn: RequestHandler = (_request, _response, next) => next();
const answer: RequestHandler = ({ params }, response) => void response.json({ ...params });

let application: express.Express;
let values: readonly string[];
let handledBy: string[];
let closing: (() => void)[];

beforeEach(() => {
  application = express();
  values = ['1', 'a%20b'];
  handledBy = [];
  closing = [];
});
afterEach(() => closing.forEach((close) => close()));

/** An application with an edge that executes `table[0]`, and whatever `add` adds behind it. */
function compile(table: readonly Route[], add: () => void): CompiledRoutes {
  const compiled = new CompiledRoutes({ routes: table } as RouteTable);
  application.use((request, response, next) => {
    const [first] = table;
    const handler = first && compiled.handlerOf({ route: first, values }, request);
    handledBy.push(handler === undefined ? 'router' : 'edge');
    if (handler === undefined) next();
    else handler(request, response, next);
  });
  add();
  compiled.compile(application, 1);
  return compiled;
}

async function get(path: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const server = createServer(application);
  closing.push(() => server.close());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, { method });
  return { status: response.status, body: await response.text() };
}

describe('a compiled route', () => {
  it('is executed without the router, with the parameters of its path', async () => {
    compile([GET_RUN], () => application.get('/runs/:runId/files/:name', answer));
    expect(await get('/runs/1/files/a%20b')).toEqual({ status: 200, body: '{"runId":"1","name":"a b"}' });
    expect(handledBy).toEqual(['edge']);
  });

  it('is executed by the router for HEAD, and for a parameter that cannot be decoded', async () => {
    compile([GET_RUN], () => application.get('/runs/:runId/files/:name', answer));
    expect((await get('/runs/1/files/a', 'HEAD')).status).toBe(200);
    values = ['1', '%E0%A4'];
    expect((await get('/runs/1/files/%E0%A4')).status).toBe(400);
    expect(handledBy).toEqual(['router', 'router']);
  });

  it.each<[string, () => void]>([
    ['all paths', () => application.use(passOn)],
    ['one value of its parameter', () => application.get('/runs/2/files/:name', passOn)],
    ['its own path', () => application.get('/runs/:runId/files/:name', passOn)],
  ])('is executed by the router behind a middleware of a module for %s', async (_for, addMiddleware) => {
    compile([GET_RUN], () => {
      addMiddleware();
      application.get('/runs/:runId/files/:name', answer);
    });
    expect((await get('/runs/1/files/a')).status).toBe(200);
    expect(handledBy).toEqual(['router']);
  });

  it('is none with a wildcard or a part of a segment as parameter, or where the router executes another route', () => {
    const table = [
      route('GET', '/pages/*path'),
      route('GET', '/files/:id.json'),
      route('GET', '/runs/latest'),
      route('POST', '/runs/latest'),
      route('GET', '/runs/:runId'),
    ];
    const compiled = compile(table, () => {
      application.get('/pages/*path', answer);
      application.get('/files/:id.json', answer);
      application.get('/runs/:runId', answer);
      application.get('/runs/latest', answer);
      application.post('/runs/latest', answer);
    });
    expect(table.map((one) => compiled.isCompiled(one))).toEqual([false, false, false, true, true]);
  });
});
