// Loaded into every process of a tree by NODE_OPTIONS. The product has no switch for this: on SIGUSR2 a process warns, a library of it prints, and it crashes
// with an uncaught error; and `banyan up` starts with a umask that hides nothing from other users.
if (process.argv[2] === 'up') process.umask(0);
process.on('SIGUSR2', () => {
  process.emitWarning('something is old', { type: 'DeprecationWarning', code: 'TEST0001', detail: 'two\nlines' });
  console.error('a library prints\ntwo lines');
  process.stdout.write('without an end');
  setTimeout(() => {
    throw new Error('nobody catches this');
  }, 100);
});
