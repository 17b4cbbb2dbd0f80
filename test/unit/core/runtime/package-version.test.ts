import { expect, it } from 'vitest';
import { packageVersion } from '../../../../core/runtime/package-version.ts';
import { version } from '../../../../package.json' with { type: 'json' };

it('the version is that of package.json', () => {
  expect(packageVersion()).toBe(version);
});
