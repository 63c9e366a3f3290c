// A service of Restate with one handler, which is never called while the bench runs: its invocations are delayed.
import { createServer } from 'node:http2';
import { createRequire } from 'node:module';

const restate = createRequire(`${process.env.BENCH_DIRECTORY}/`)('@restatedev/restate-sdk');
const runs = restate.service({ name: 'runs', handlers: { create: async () => undefined } });
const handler = restate.createEndpointHandler({ services: [runs] });
createServer(handler).listen(0, '127.0.0.1', function () {
  console.log(`listening ${this.address().port}`);
});
