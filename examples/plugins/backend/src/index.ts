import { Module } from '@nestjs/common';
import { Plugin } from 'headrace/plugin';
import { NiceBackend } from './nice-backend.js';

export { NiceBackend };

/** `EXECUTOR=nice` selects it for hosted runs, `headrace worker --backend nice` on a self-hosted machine. */
@Plugin({
  name: 'example-backend',
  version: '1.0.0',
  headrace: '^0.2',
  processes: ['processor', 'worker'],
})
@Module({ providers: [NiceBackend] })
export default class NiceBackendPlugin {}
