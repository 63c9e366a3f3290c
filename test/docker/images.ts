import { createHash } from 'node:crypto';
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DockerEngineProcess } from './engine.js';

/** Debian with git, glibc and libstdc++. */
export const BASE_IMAGE = 'headrace-test/base:1';

/** The images of the tests, and the Dockerfile of each. */
export const IMAGES = {
  /** Everything of an image that must have no effect, and a variable that must have one. */
  special: `FROM ${BASE_IMAGE}
ENV TOOLCHAIN=stable-9 NODE_OPTIONS=--max-old-space-size=200
ENTRYPOINT ["/bin/false"]
CMD ["never"]
HEALTHCHECK CMD false
VOLUME /data
EXPOSE 80`,
  user: `FROM ${BASE_IMAGE}\nRUN useradd --create-home --uid 1234 dev\nUSER dev`,
  unknownUser: `FROM ${BASE_IMAGE}\nUSER nobody-knows`,
  noLibstdcxx: `FROM ${BASE_IMAGE}\nRUN find / -xdev -name 'libstdc++.so*' -delete`,
  /** No dynamic loader. */
  static: 'FROM scratch\nCOPY busybox /bin/busybox',
} as const;

export function imageOf(name: keyof typeof IMAGES): string {
  const tag = createHash('sha256').update(IMAGES[name]).digest('hex').slice(0, 12);
  return `headrace-test/${name.toLowerCase()}:${tag}`;
}

/** Builds the images that the engine does not have. */
export async function ensureImages(engine: DockerEngineProcess): Promise<void> {
  const has = async (image: string): Promise<boolean> =>
    (await engine.docker('images', '--quiet', image)).trim() !== '';
  const directory = mkdtempSync(join(tmpdir(), 'headrace-images-'));
  try {
    if (!(await has(BASE_IMAGE))) await engine.docker('import', engine.baseArchive, BASE_IMAGE);
    copyFileSync('/bin/busybox', join(directory, 'busybox'));
    for (const [name, dockerfile] of Object.entries(IMAGES)) {
      const image = imageOf(name as keyof typeof IMAGES);
      if (await has(image)) continue;
      writeFileSync(join(directory, 'Dockerfile'), dockerfile);
      await engine.docker('build', '--quiet', '--network', 'none', '--tag', image, directory);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}
