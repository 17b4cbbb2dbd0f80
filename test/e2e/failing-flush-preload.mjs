// Loaded into every process of a tree by NODE_OPTIONS: the disk of one that has a file CONFIG.flush-fails beside its configuration does not take what is
// flushed next. No file system that a test can make says so on demand.
import { existsSync, rmSync } from 'node:fs';
import { createRequire, syncBuiltinESMExports } from 'node:module';

const fs = createRequire(import.meta.url)('node:fs');
const { fdatasync } = fs;
const config = process.argv[process.argv.indexOf('--config') + 1];
const order = `${config}.flush-fails`;

fs.fdatasync = (fd, done) => {
  if (!existsSync(order)) return fdatasync(fd, done);
  rmSync(order);
  setImmediate(done, Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' }));
};
syncBuiltinESMExports();
