import { DockerEngineProcess } from './engine.js';
import { ensureImages } from './images.js';

/** One engine for all test files, which run one after the other. */
export async function setup(): Promise<void> {
  const engine = DockerEngineProcess.current();
  await engine.start();
  await ensureImages(engine);
  console.log(`Docker Engine ${(await engine.version()).Version}`);
}

export async function teardown(): Promise<void> {
  await DockerEngineProcess.current().stop();
}
