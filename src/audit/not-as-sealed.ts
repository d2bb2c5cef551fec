/** What a store holds is not what was sealed: an event, a checkpoint, or the hashes of the tree that are kept. */
export class NotAsSealed extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'NotAsSealed';
  }
}
