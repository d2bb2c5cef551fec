/** Node's module. An import of it would also load Node's HTTP client, which nothing here uses, and which takes 30 ms of a start. */
export const nodeHttp = process.getBuiltinModule('node:http');
