import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { packageVersion } from '../../../../core/runtime/package-version.ts';

it('the version is that of package.json', () => {
  expect({ version: packageVersion() }).toMatchObject({
    version: (JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }).version,
  });
});
